/** Memory that a process may take while it converts a model of any size. */
export const maxPeakBytes = 1.5e9;
