import type { Command } from '#platform/sandbox';
import type { MediaTask } from './media-task.js';

/** Something that carries out tasks, one child process each. */
export interface MediaEngine {
  /** For logs and reports. */
  readonly name: string;
  /** As it states it: `5.1.8-0+deb12u1`, `8.1`. */
  readonly version: string;
  command(task: MediaTask): Command;
}

/** Returns major and minor version; null for a version that is no number, such as a nightly build. */
export function releaseOf(version: string): [number, number] | null {
  const [, major, minor] = /^n?(\d+)\.(\d+)/.exec(version) ?? [];
  return major === undefined ? null : [Number(major), Number(minor)];
}

/** True if `first` is a later release than `second`. */
export function isNewer(first: MediaEngine, second: MediaEngine): boolean {
  const [a, b] = [releaseOf(first.version), releaseOf(second.version)];
  if (a === null || b === null) return false;
  return a[0] > b[0] || (a[0] === b[0] && a[1] > b[1]);
}
