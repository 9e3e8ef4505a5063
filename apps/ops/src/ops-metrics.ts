import { Injectable } from '@nestjs/common';
import { UsageFoldRepository } from '#billing';
import { JobsRepository, ResultBacklog } from '#jobs';
import { Readiness, registerReadinessGauges } from '#platform/health';
import { Metrics, registerQueueFailures, registerQueueGauges, registerRefusedMessages } from '#platform/metrics';
import { QueueTransport } from '#queue';

/** Registers the gauges that ops reads at each scrape. */
@Injectable()
export class OpsMetrics {
  constructor(
    metrics: Metrics,
    transport: QueueTransport,
    jobs: JobsRepository,
    backlog: ResultBacklog,
    usage: UsageFoldRepository,
    readiness: Readiness,
  ) {
    registerReadinessGauges(metrics, readiness);
    registerQueueFailures(metrics, () => transport.failedCalls);
    registerRefusedMessages(metrics, () => transport.refusedMessages);
    registerPoolSessions(metrics, transport);
    registerLostWorkers(metrics, transport);
    registerStoreMemory(metrics, transport);
    registerBacklogGauges(metrics, backlog);
    registerJobGauges(metrics, jobs);
    registerUsageFold(metrics, usage);
    registerQueueGauges(metrics, () => readQueues(transport, jobs));
  }
}

function registerPoolSessions(metrics: Metrics, transport: QueueTransport): void {
  const counters = [
    [
      'sluice_pool_sessions_ended_total',
      'Sessions of a pool role that were ended because they held up others.',
      'ended',
    ],
    ['sluice_pool_lockouts_total', 'How often a pool role was locked out because its sessions went on.', 'lockedOut'],
  ] as const;
  for (const [name, help, count] of counters) {
    metrics.observedCounter({
      ...{ name, help, labelNames: ['role'] },
      read: (observe) => {
        for (const [role, counts] of transport.poolSessions) observe({ role }, counts[count]);
      },
    });
  }
}

function registerLostWorkers(metrics: Metrics, { membership }: QueueTransport): void {
  metrics.observedCounter({
    name: 'sluice_workers_lost_total',
    help: 'Workers that fell silent without leaving, by pool; the same from every replica.',
    labelNames: ['pool'],
    read: (observe) => {
      for (const [pool, count] of membership.lostWorkers) observe({ pool }, count);
    },
  });
}

function registerStoreMemory(metrics: Metrics, transport: QueueTransport): void {
  const gauges = [
    ['sluice_queue_memory_used_bytes', 'Memory that a Redis with a limit uses.', 'usedBytes'],
    ['sluice_queue_memory_limit_bytes', 'The limit (`maxmemory`); from 90 % on no new work is taken.', 'limitBytes'],
  ] as const;
  for (const [name, help, member] of gauges) {
    metrics.observedGauge({
      ...{ name, help, labelNames: [] },
      read: (observe) => {
        const { storeMemory } = transport;
        if (storeMemory !== null) observe({}, storeMemory[member]);
      },
    });
  }
}

function registerBacklogGauges(metrics: Metrics, backlog: ResultBacklog): void {
  metrics.observedGauge({
    name: 'sluice_job_results_waiting',
    help: 'Batches of job results in the queue at the last sweep, up to 1,000 of each kind; the same from every replica.',
    labelNames: [],
    read: (observe) => observe({}, backlog.waiting),
  });
  metrics.observedGauge({
    name: 'sluice_job_results_oldest_age_seconds',
    help: 'Time since job results fell behind, in which sweeps repair nothing for up to 15 minutes; 0: no backlog.',
    labelNames: [],
    read: (observe) => observe({}, backlog.stuckMs / 1_000),
  });
}

function registerJobGauges(metrics: Metrics, jobs: JobsRepository): void {
  metrics.observedGauge({
    name: 'sluice_jobs_open',
    help: 'Open job rows.',
    labelNames: ['modality', 'model', 'state'],
    read: async (observe) => {
      for (const { modality, modelId, state, count } of await jobs.countOpen()) {
        observe({ modality, model: modelId, state }, count);
      }
    },
  });
  metrics.observedGauge({
    name: 'sluice_jobs_oldest_age_seconds',
    help: 'Age of the oldest open row by state, since it entered the queue.',
    labelNames: ['modality', 'model', 'state'],
    read: async (observe) => {
      for (const { modality, modelId, state, oldestSeconds } of await jobs.countOpen()) {
        observe({ modality, model: modelId, state }, oldestSeconds);
      }
    },
  });
}

function registerUsageFold(metrics: Metrics, usage: UsageFoldRepository): void {
  metrics.observedGauge({
    name: 'sluice_usage_folded_timestamp_seconds',
    help: 'Until when usage is in the sums of reports; the same from every replica. Empty: nothing was used yet.',
    labelNames: [],
    read: async (observe) => {
      const through = await usage.foldedThrough();
      if (through !== null) observe({}, through.getTime() / 1_000);
    },
  });
}

/** The queues of models that a worker serves, and of those with open rows. */
async function readQueues(transport: QueueTransport, jobs: JobsRepository) {
  const served = transport.membership.list().flatMap((heartbeat) => heartbeat.models);
  const ofServed = served.flatMap(({ modalities, modelId }) => modalities.map((modality) => ({ modality, modelId })));
  const queues = new Map<string, { modality: string; modelId: string }>();
  for (const { modality, modelId } of [...ofServed, ...(await jobs.countOpen())]) {
    queues.set(`${modality}.${modelId}`, { modality, modelId });
  }
  return Promise.all(
    [...queues.values()].map(async ({ modality, modelId }) => {
      return { modality, modelId, counts: await transport.producer.counts(modality, modelId) };
    }),
  );
}
