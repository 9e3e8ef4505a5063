import type { WireError } from '#common';
import type { HostLoadOptions } from '../contract/engine-loader.js';
import type { AnyEngineStats, EngineEvent, EngineRequest } from '../contract/engine.js';

/*
 * What a worker and a model host say to each other over the fork's channel (structured clone). One host holds one
 * model. Events of one step travel in one message.
 */

export type HostCommand =
  | { type: 'load'; options: HostLoadOptions }
  /** `trace`: W3C `traceparent` of the job, where it is traced. */
  | { type: 'submit'; request: EngineRequest; trace?: string }
  | { type: 'cancel'; id: string }
  | { type: 'drain' };

export type HostMessage =
  /** The process runs; it waits for `load`. */
  | { type: 'hello'; pid: number }
  /** The model is loaded and warm. */
  | {
      type: 'ready';
      provider: string;
      providerNote: string | null;
      slots: number;
      loadMs: number;
      /** Requests wait for the end of those before: only the first of them can be what a host dies of. */
      oneAtATime: boolean;
    }
  | { type: 'load-failed'; error: WireError; detail: string }
  | { type: 'events'; events: [id: string, event: EngineEvent][] }
  /** Every second, also while idle; a host silent for longer than `silentAfterMs` is killed. */
  | { type: 'beat'; stats: AnyEngineStats; residentBytes: number; loopLagMs: number }
  | { type: 'drained' };
