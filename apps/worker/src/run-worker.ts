import { hostname, networkInterfaces } from 'node:os';
import { forkHost, type HostLauncher, type HostTimings } from '#inference/host';
import { MediaTools } from '#media';
import type { WorkerConfig } from '#platform/config';
import {
  logReadiness,
  Readiness,
  type ReadinessCheck,
  registerReadinessGauges,
  serviceVersion,
  startHealthServer,
} from '#platform/health';
import { createLogger } from '#platform/logging';
import { IdleCollector } from '#platform/memory';
import { Metrics, registerBusLag, registerQueueFailures, registerRefusedMessages } from '#platform/metrics';
import { openTracing } from '#platform/tracing';
import { createTransport, type WorkerProcess } from '#queue';
import { createArtifactStore } from '#storage';
import { chooseProviders } from './choose-providers.js';
import { hostEnvironment } from './host-environment.js';
import { NvidiaGraphicsMemory } from './residency/graphics-memory.js';
import { LocalMachineMemory } from './residency/machine-memory.js';
import { registerResidencyMetrics } from './residency/residency-metrics.js';
import { registerWorkerMetrics } from './worker-metrics.js';
import { Worker } from './worker.js';

/** Settings that tests replace; production uses the defaults. */
export interface WorkerOverrides {
  launch?: HostLauncher;
  timings?: Partial<HostTimings>;
}

/** Runs a worker until SIGTERM or SIGINT, then drains it and lets the process end. */
export async function runWorker(config: WorkerConfig, overrides: WorkerOverrides = {}): Promise<void> {
  const logger = createLogger('worker');
  const hosts = overrides.launch ?? forkHost({ env: hostEnvironment });
  const { launch, providers } = await chooseProviders(hosts, { config, logger });
  const transport = await createTransport({
    url: config.queueUrl,
    namespace: config.namespace,
    sealKeys: config.sealKeys,
    clientName: 'worker',
    warn: (message, error) => logger.warn({ error }, message),
  });
  const tracing = await openTracing('sluice-worker', config);
  const artifacts = createArtifactStore(config.storage);
  const describedProcess = describeProcess(config);
  const media = await MediaTools.find({
    ffmpeg: config.ffmpeg,
    lostToolCode: 'DEVICE_LOST',
    warn: (message) => logger.warn(message),
  });
  const worker = new Worker({
    ...workerSettings(config, await providers),
    ...{ transport, artifacts, media, tracing, logger, process: describedProcess },
    launch,
    timings: overrides.timings,
  });
  const metrics = new Metrics('worker', { installation: config.installation });
  registerWorkerMetrics(metrics, () => worker.models);
  registerResidencyMetrics(metrics, worker);
  const readiness = new Readiness(
    [
      { name: 'queue', check: () => transport.ping() },
      { name: 'storage', check: () => artifacts.ping(), isPartial: true },
      modelsCheck(worker),
    ],
    logReadiness(logger),
  );
  registerReadinessGauges(metrics, readiness);
  registerBusLag(metrics, () => transport.membership.lagMs);
  registerQueueFailures(metrics, () => transport.failedCalls);
  registerRefusedMessages(metrics, () => transport.refusedMessages);
  const isAlive = () => worker.isAlive;
  const http = await startHealthServer({ host: config.host, port: config.port, readiness, metrics, isAlive });
  describedProcess.address = addressOf(config.host, http.port);
  logger.info({ port: http.port }, `worker ${worker.processId} serves health and metrics on port ${http.port}`);
  await worker.start();
  const collector = new IdleCollector();
  collector.start();

  const signal = await stopSignal();
  logger.info({ signal, drainMs: config.drainMs }, 'draining: no new jobs, running ones may finish');
  readiness.drain();
  collector.stop();
  await worker.stop(config.drainMs);
  await transport.close();
  await artifacts.close();
  await tracing.close();
  await http.close();
  logger.info('worker stopped');
}

function workerSettings(config: WorkerConfig, providers: string[]) {
  const { home, models, pools, pickupTimeoutMs, providerLibraries, threads, slots, draftTokens, tee } = config;
  return {
    ...{ home, models, pools, pickupTimeoutMs },
    settings: { providers, providerLibraries, threads, slots, draftTokens, ...(tee !== 'off' && { tee }) },
    silence: { textMs: config.hostSilenceMs, otherMs: config.mediaHostSilenceMs },
    residencyMs: config.minResidencyMs,
    machine: new LocalMachineMemory({ settings: config.memoryBudget, providers, graphics: new NvidiaGraphicsMemory() }),
  };
}

/** The models keep a worker from being ready at its start only. */
function modelsCheck({ startup }: Worker): ReadinessCheck {
  return {
    name: 'models',
    check: () => startup.check(),
    isStartup: true,
    get isPartial() {
      return startup.isDone;
    },
  };
}

/** Where this process runs. Its port is known later. */
function describeProcess({ nodeName, podName, host, port }: WorkerConfig): WorkerProcess {
  return {
    host: (nodeName ?? hostname()).slice(0, longestName),
    ...(podName !== undefined && { pod: podName }),
    address: addressOf(host, port),
    version: serviceVersion(),
    startedAtMs: Math.round(Date.now() - process.uptime() * 1_000),
  };
}

/** Returns `host:port` as others reach it: with the address of an interface where the host is that of all. */
function addressOf(host: string, port: number): string {
  const interfaces = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const outside = interfaces.find(({ internal, family }) => !internal && family === 'IPv4')?.address;
  return `${/^(0\.0\.0\.0|::)$/.test(host) ? (outside ?? host) : host}:${port}`;
}

/** Heartbeats take no longer names. */
const longestName = 200;

/** The first signal starts the drain; a second one ends the process and its hosts at once. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let stopping = false;
    const stop = (signal: NodeJS.Signals) => {
      if (stopping) process.exit(1);
      stopping = true;
      resolve(signal);
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
}
