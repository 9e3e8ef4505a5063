import { Injectable } from '@nestjs/common';
import { ModelRegistryService } from '#model-registry';
import { modalitiesOf } from '#modalities';
import { Readiness, registerReadinessGauges } from '#platform/health';
import {
  Metrics,
  registerBusLag,
  registerQueueFailures,
  registerQueueGauges,
  registerRefusedMessages,
} from '#platform/metrics';
import { type AffinityDecision, QueueTransport } from '#queue';

/**
 * Fleet-wide metrics that every API replica exports besides its own. They include queues of models that no worker
 * serves, because an autoscaler starts an empty pool from them.
 */
@Injectable()
export class ApiMetrics {
  constructor(metrics: Metrics, registry: ModelRegistryService, transport: QueueTransport, readiness: Readiness) {
    registerReadinessGauges(metrics, readiness);
    registerBusLag(metrics, () => transport.membership.lagMs);
    registerQueueFailures(metrics, () => transport.failedCalls);
    registerRefusedMessages(metrics, () => transport.refusedMessages);
    registerQueueGauges(metrics, async () => {
      const models = await registry.inventory();
      const queues = models.flatMap(({ manifest }) =>
        modalitiesOf(manifest).map((modality) => ({ modality, modelId: manifest.id })),
      );
      return await Promise.all(
        queues.map(async ({ modality, modelId }) => {
          return { modality, modelId, counts: await transport.producer.counts(modality, modelId) };
        }),
      );
    });
    metrics.observedGauge({
      name: 'sluice_model_workers',
      help: 'Workers that have the model loaded, by state, as last reported to this process.',
      labelNames: ['model', 'state'],
      read: async (observe) => {
        for (const { manifest } of await registry.inventory()) {
          if (modalitiesOf(manifest).length > 0) observeReplicas(manifest.id, transport, observe);
        }
      },
    });
  }
}

/** `sluice_affinity_decisions_total`: whether chats prefer the worker that served their earlier turns. */
export function countAffinity(metrics: Metrics): (decision: AffinityDecision) => void {
  const decisions = metrics.counter(
    'sluice_affinity_decisions_total',
    'Jobs that prefer a worker (`sticky`), or do not: fewer than two serve the model (`alone`), none has room (`full`). Those that may use a spare slot of one (`spare`).',
    ['modality', 'model', 'decision'],
  );
  return ({ modality, modelId, decision }) => decisions.inc({ modality, model: modelId, decision });
}

const heldStates = ['loading', 'ready', 'draining'] as const;

/** A model without a replica reports zero, so that alerts can tell it from a model that does not exist. */
function observeReplicas(
  model: string,
  { membership }: QueueTransport,
  observe: (labels: { model: string; state: string }, value: number) => void,
): void {
  const held = membership.list().flatMap(({ models }) => models.filter(({ modelId }) => modelId === model));
  for (const state of heldStates) observe({ model, state }, held.filter((copy) => copy.state === state).length);
}
