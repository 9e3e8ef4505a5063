import type { TaskRunner, TextGenerationRunner } from '#inference/host';
import { catalog, type ModalityName, type ProcessorsOf } from '#modalities';
import { AudioProcessor } from '#modalities/audio/worker';
import { ChatImageReader, ChatProcessor } from '#modalities/chat/worker';
import { EmbeddingProcessor } from '#modalities/embedding/worker';
import { ImageProcessor } from '#modalities/image/worker';
import { RerankProcessor } from '#modalities/rerank/worker';
import { SpeechProcessor } from '#modalities/speech/worker';
import { TranscriptionProcessor } from '#modalities/transcription/worker';
import { VideoProcessor } from '#modalities/video/worker';
import type { MediaTools } from '#media';
import type { ModelManifest } from '#model-registry/manifest';
import type { Logger } from '#platform/logging';
import type { Tracing } from '#platform/tracing';
import type { JobConsumer, JobReport, QueueTransport, RunningJob } from '#queue';
import type { ArtifactStore } from '#storage';
import type { ModelTimings } from './model-timings.js';
import { traceJob } from './trace-job.js';
import { TimedRunner } from './timed-runner.js';

/** Runs the jobs of one slice on the host of one model. */
interface JobProcessor<Payload extends object> {
  process(job: RunningJob<Payload>): Promise<JobReport>;
}

/** Hosts of internal models, by id. */
export type HelperHosts = (modelId: string) => TaskRunner | null;

/** Dependencies of a processor. */
export interface ProcessorDependencies {
  /** The model's host. */
  runner: TextGenerationRunner & TaskRunner;
  manifest: ModelManifest;
  /** Inputs and results of media jobs, by reference. */
  artifacts: ArtifactStore;
  /** Reads and writes audio and video; may be missing on this machine. */
  media: MediaTools;
  /** Returns the host of an internal model of this worker, such as the safety classifier; null while there is none. */
  helper: HelperHosts;
}

/** Worker side of every slice. A slice without an entry does not compile. */
export const processors = {
  audio: (dependencies) => new AudioProcessor(dependencies),
  chat: ({ runner, artifacts }) => new ChatProcessor(runner, new ChatImageReader(artifacts)),
  embedding: ({ runner }) => new EmbeddingProcessor(runner),
  image: (dependencies) => new ImageProcessor(dependencies),
  rerank: ({ runner }) => new RerankProcessor(runner),
  speech: (dependencies) => new SpeechProcessor(dependencies),
  transcription: (dependencies) => new TranscriptionProcessor(dependencies),
  video: (dependencies) => new VideoProcessor(dependencies),
} satisfies ProcessorsOf<(dependencies: ProcessorDependencies) => JobProcessor<never>>;

export interface ModelConsumerOptions extends ProcessorDependencies {
  transport: QueueTransport;
  modality: ModalityName;
  concurrency: number;
  spareSlots: number;
  /** See `ConsumerOptions`. */
  pickupTimeoutMs?: number;
  timings: ModelTimings;
  tracing: Tracing;
  logger: Logger;
}

/** Starts consuming the jobs of one modality and model. */
export function openConsumer(options: ModelConsumerOptions): Promise<JobConsumer> {
  const { transport, modality, manifest, concurrency, spareSlots, pickupTimeoutMs, runner } = options;
  const timings = options.timings.of(modality);
  // Another pool's credentials may not open what jobs of this model store.
  const artifacts = options.artifacts.ofModel(manifest.id);
  const timed = { ...options, artifacts, runner: new TimedRunner(runner, options.timings) };
  const processor: JobProcessor<never> = processors[modality](timed);
  return transport.consume<object, object>({
    definition: catalog[modality],
    modelId: manifest.id,
    // The consumer has validated the payload against the class of this definition.
    handler: (job) => traceJob(options, job, () => timings.time(() => processor.process(job as RunningJob<never>))),
    concurrency,
    spareSlots,
    pickupTimeoutMs,
    onPickup: (waitedMs) => timings.pickup.add(waitedMs / 1_000),
    onSticky: (end) => timings.countSticky(end),
  });
}
