import type { Manifest } from './manifest.js';

/** One rule about the objects of an overlay. */
export interface Policy {
  /** As a test's name goes on: "the overlay … <name>". */
  name: string;
  /** What breaks the rule, one line each; empty when nothing does. */
  offences: (manifests: readonly Manifest[]) => string[];
  /** Breaks the rule in a copy of an overlay that keeps it; the policy must then find something. */
  plant: (manifests: Manifest[]) => void;
}
