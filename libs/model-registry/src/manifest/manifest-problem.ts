/** What is wrong in a manifest, and where: `capabilities.supportsE2EE`. */
export interface ManifestProblem {
  path: string;
  message: string;
}
