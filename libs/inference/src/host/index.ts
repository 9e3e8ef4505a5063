export { forkHost, type HostLauncher } from './host-process.js';
export {
  defaultHostTimings,
  type HostReport,
  type HostState,
  type HostStateChange,
  HostSupervisor,
  type HostTimings,
} from './host-supervisor.js';
export type { HostInquiry, HostTeeReport } from './host-tee.js';
export { hostLoadOptions, type HostSettings } from './load-options.js';
export { serveModelHost } from './model-host.js';
export type { TaskOptions, TaskResult, TaskRunner } from './task-runner.js';
export type { RunEvent, RunOptions, RunResult, TextGenerationRunner } from './text-generation-runner.js';
export type { EngineLoader, HostLoadOptions, LoadedEngine } from '../contract/engine-loader.js';
export type { AnyEngineStats, EngineEvent, EngineSink } from '../contract/engine.js';
export type { EngineStats } from '../contract/engine-stats.js';
export type { OutputConstraint } from '../contract/output-constraint.js';
export type { TaskEngine, TaskEvent, TaskRequest } from '../contract/task.js';
export type {
  DeltaPiece,
  GeneratedTokenLogprob,
  PromptImage,
  TextEngineStats,
  TextGenerationEngine,
  TextGenerationEvent,
  TextGenerationRequest,
  TextGenerationSink,
} from '../contract/text-generation.js';
export { assertFamily } from '../contract/family-names.js';
