import type { WireError } from '#common';
import type { RunShape } from '#model-memory';
import type { HostLoadOptions, LoadedAdapters } from '../contract/engine-loader.js';
import type { AnyEngineStats, EngineEvent, EngineRequest } from '../contract/engine.js';
import type { HostInquiry, HostTeeReport } from './host-tee.js';
import type { TrialMeasure } from './trial-run.js';

/*
 * Messages between a worker and a model host over the fork's channel (structured clone). One host serves one model.
 * Events of one step are sent in one message.
 */

export type HostCommand =
  | { type: 'load'; options: HostLoadOptions }
  /** `trace`: W3C `traceparent` of the job, if it is traced. */
  | { type: 'submit'; request: EngineRequest; trace?: string }
  | { type: 'cancel'; id: string }
  | { type: 'ask'; id: number; inquiry: HostInquiry }
  /** Measures the short run of the loaded model; `tried` follows. */
  | { type: 'try' }
  | { type: 'drain' };

export type HostMessage =
  /** The process runs and waits for `load`. */
  | { type: 'hello'; pid: number }
  /** The model is loaded and warmed up. */
  | {
      type: 'ready';
      provider: string;
      providerNote: string | null;
      slots: number;
      /** Absent: none. */
      spareSlots?: number;
      loadMs: number;
      /** Requests run one at a time, so only the oldest can have caused the death of a host. */
      oneAtATime: boolean;
      /** Absent: none were wanted. */
      adapters?: LoadedAdapters;
      /** Memory of its runs; absent where it does not depend on the request. */
      run?: RunShape;
      /** As in `LoadedEngine`. */
      batchInvariant?: boolean;
      /** As in `LoadedEngine`. */
      cacheType?: string;
      /** Absent: it was not to make a key. */
      tee?: HostTeeReport;
    }
  | { type: 'load-failed'; error: WireError; detail: string }
  | { type: 'events'; events: [id: string, event: EngineEvent][] }
  /** Sent every second, also while idle. A host silent for too long is killed (`host-silence.ts`). */
  | { type: 'beat'; stats: AnyEngineStats; residentBytes: number; loopLagMs: number }
  /** To the `ask` with this id. */
  | { type: 'answer'; id: number; answer?: object; error?: WireError }
  /** Null: the family has no short run. */
  | { type: 'tried'; measure: TrialMeasure | null }
  | { type: 'try-failed'; detail: string }
  | { type: 'drained' };
