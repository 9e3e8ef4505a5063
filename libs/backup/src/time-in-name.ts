/** Returns the time of now as names have it, such as `20261130T125500Z`. */
export function timeInName(): string {
  return `${new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
}
