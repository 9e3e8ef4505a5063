import type { WireError } from '#common';
import type { AnyEngineStats, EngineEvent, EngineRequest } from '../engines/engine.js';

/*
 * What a worker and a model host say to each other over the fork's channel (structured clone). One host holds one
 * model. Events of one step travel in one message.
 */

/** What a host needs to load its model. Paths are local; nothing is fetched. */
export interface HostLoadOptions {
  modelId: string;
  /** Folder of the installed model, as `#model-store` lays it out. */
  directory: string;
  /** Graph file, relative to `directory`. */
  graphFile: string;
  /** Family of `#inference` that knows how to open the graph, from the manifest. */
  family: string;
  /** The family's own settings, from the manifest: pooling, sample rate, names of further graphs… */
  familyOptions: Readonly<Record<string, string | number | boolean>>;
  /** Execution providers in order of preference. */
  providers: string[];
  intraOpThreads: number;
  /** Most sequences in the batch. */
  slots: number;
  /** Longest prompt plus output, in tokens; at most what the model takes. */
  contextLength: number;
  /** Largest total of cached tokens over all slots. */
  cacheTokens: number;
}

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
