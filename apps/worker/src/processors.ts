import type { TextGenerationRunner } from '#inference/host';
import { catalog, type ModalityName, type ProcessorsOf } from '#modalities';
import type { ChatJobPayload } from '#modalities/chat/contract';
import { ChatProcessor } from '#modalities/chat/worker';
import type { ModelType } from '#model-registry/manifest';
import type { ConsumerOptions, JobConsumer, JobReport, QueueTransport, RunningJob } from '#queue';

/** Runs the jobs of one slice on the host of one model. */
interface JobProcessor<Payload extends object> {
  process(job: RunningJob<Payload>): Promise<JobReport>;
}

/** The worker's part of every slice; a slice without one does not compile. */
export const processors = {
  chat: (runner: TextGenerationRunner): JobProcessor<ChatJobPayload> => new ChatProcessor(runner),
} satisfies ProcessorsOf<(runner: TextGenerationRunner) => JobProcessor<never>>;

const modalities: Partial<Record<ModelType, ModalityName>> = { text: 'chat' };

/** The slice whose jobs a model of this type runs; null for types that this worker cannot host. */
export function modalityOf(type: ModelType): ModalityName | null {
  return modalities[type] ?? null;
}

/** Starts taking the jobs of one model. */
export function openConsumer(
  transport: QueueTransport,
  options: { modality: ModalityName; modelId: string; runner: TextGenerationRunner; concurrency: number },
): Promise<JobConsumer> {
  const { modality, modelId, runner, concurrency } = options;
  const processor = processors[modality](runner);
  const consumer: ConsumerOptions<ChatJobPayload, object> = {
    definition: catalog[modality],
    modelId,
    handler: (job) => processor.process(job),
    concurrency,
  };
  return transport.consume(consumer);
}
