/** A problem in a manifest and its field path: `capabilities.supportsE2EE`. */
export interface ManifestProblem {
  path: string;
  message: string;
}
