import type { Manifest } from './manifest.js';

/** One rule about the objects of an overlay. */
export interface Policy {
  /** Completes the test name "the overlay … <name>". */
  name: string;
  /** Violations, one line each; empty if there are none. */
  violations: (manifests: readonly Manifest[]) => string[];
  /** Violates the rule in a copy of a valid overlay; the policy must detect it. */
  plant: (manifests: Manifest[]) => void;
}
