export { crashSignals, residentBytes } from './child-state.js';
export type { ResourceLimits } from './resource-limits.js';
export { type Command, notStartedCodes, Sandbox } from './sandbox.js';
