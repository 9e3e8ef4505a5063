import { randomUUID } from 'node:crypto';
import { AccountsService } from '#accounts';
import { LedgerService, MoneyMetrics, PriceList, ReservationStep, SettlementStep } from '#billing';
import { Egress } from '#egress';
import {
  AdmissionService,
  correctReservedTokens,
  DownloadLinksRepository,
  DownloadService,
  IdempotencyRepository,
  IdempotencyService,
  JobCloser,
  JobsRepository,
  JobsService,
  MediaJobsRepository,
  PayloadCipher,
  SecretBox,
} from '#jobs';
import { MediaTools } from '#media';
import { ModelRegistryService, MembershipOnlineModels } from '#model-registry';
import type { ApiConfig } from '#platform/config';
import type { Readiness } from '#platform/health';
import type { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { PrismaService } from '#platform/prisma';
import { openTracing, type Tracing } from '#platform/tracing';
import { createTransport, type QueueTransport } from '#queue';
import { type ArtifactStore, createArtifactStore, DownloadLinks } from '#storage';
import { meterJob } from '#modalities';
import { VoicesService } from '#modalities/speech/api';
import { type AccountServices, openAccountServices } from './account-services.js';
import { readinessOf } from './api-readiness.js';
import { Drain, ModelAvailabilityWatcher, StoreBudgets } from '#gateway';
import { countAffinity, countDecisions, registerApiMetrics } from './api-metrics.js';
import { type LimitServices, openLimitServices } from './limit-services.js';

/** How long the database may take to answer; its connection is then given up. */
const queryTimeoutMs = 10_000;

/** Everything the api's routes stand on, made once per process. */
export interface ApiServices extends AccountServices, LimitServices {
  config: ApiConfig;
  logger: Logger;
  prisma: PrismaService;
  transport: QueueTransport;
  accounts: AccountsService;
  registry: ModelRegistryService;
  prices: PriceList;
  admission: AdmissionService;
  idempotency: IdempotencyService;
  jobs: JobsService;
  artifacts: ArtifactStore;
  mediaJobs: MediaJobsRepository;
  links: DownloadLinks;
  downloads: DownloadService;
  media: MediaTools;
  voices: VoicesService;
  egress: Egress;
  replicas: ModelAvailabilityWatcher;
  metrics: Metrics;
  readiness: Readiness;
  drain: Drain;
  budgets: StoreBudgets;
  tracing: Tracing;
}

/** Connects to queue and database. Rejects when the queue does not answer; the database may come later. */
export async function openServices(config: ApiConfig, logger: Logger): Promise<ApiServices> {
  const metrics = new Metrics('api');
  const transport = await openTransport(config, metrics, logger);
  const tracing = await openTracing('sluice-api', config);
  const prisma = openDatabase(config);
  await transport.replies.start();
  await joinCluster(transport);
  const jobs = new JobsRepository(prisma);
  const budgets = new StoreBudgets(config.storeTimeoutMs);
  const registry = new ModelRegistryService(prisma, new MembershipOnlineModels(() => transport.membership.list()));
  const accounts = new AccountsService(prisma);
  const ledger = new LedgerService(prisma);
  const idempotency = new IdempotencyService({
    repository: new IdempotencyRepository(prisma),
    box: new SecretBox(config.secretKey),
    chargeOf: (requestId) => ledger.chargeOf(requestId),
    logger,
  });
  const accountServices = openAccountServices(config, { prisma, accounts, ledger, queryTimeoutMs });
  const { apiKeys } = accountServices;
  const limitServices = await openLimitServices(config, { prisma, ledger, apiKeys, registry, metrics, logger });
  const correction = correctReservedTokens(limitServices.limits.corrector);
  const money = new MoneyMetrics(metrics);
  const settlement = new SettlementStep(meterJob, money);
  const artifacts = createArtifactStore(config.storage);
  const links = new DownloadLinks(config.secretKey);
  const { store: limitStore } = limitServices.limits;
  const readiness = readinessOf(config, { prisma, transport, limitStore, artifacts, logger });
  registerApiMetrics(metrics, { registry, transport, readiness });
  return {
    config,
    logger,
    prisma,
    transport,
    accounts,
    ...accountServices,
    ...limitServices,
    registry,
    prices: new PriceList(prisma),
    admission: new AdmissionService({
      jobs,
      closer: new JobCloser(jobs, [settlement], [correction, settlement.afterwards]),
      steps: [idempotency, new ReservationStep()],
      cipher: new PayloadCipher(config.secretKey),
      transport,
      logger,
      queueLimit: config.queueLimit,
      budgetOf: (requestId) => budgets.of(requestId),
      traceOf: (requestId) => tracing.parentFor(requestId),
      onDecision: countDecisions(metrics),
      onWritten: (job, quote) => money.reserved(job, quote),
    }),
    idempotency,
    jobs: new JobsService({ jobs, transport, logger }),
    artifacts,
    mediaJobs: new MediaJobsRepository(prisma),
    links,
    downloads: new DownloadService({ links, artifacts, repository: new DownloadLinksRepository(prisma) }),
    media: await MediaTools.find({ ffmpeg: config.ffmpeg, warn: (message) => logger.warn(message) }),
    voices: new VoicesService(prisma, artifacts, logger),
    egress: new Egress({ allowedNetworks: config.egressNetworks }),
    replicas: new ModelAvailabilityWatcher(transport.membership),
    metrics,
    readiness,
    drain: new Drain(),
    budgets,
    tracing,
  };
}

function openDatabase({ databaseUrl: url }: ApiConfig): PrismaService {
  return new PrismaService({ url, applicationName: 'sluice-api', poolSize: 20, queryTimeoutMs });
}

/** Writes what still waits and lets go of both stores. */
export async function closeServices(services: ApiServices): Promise<void> {
  const { idempotency, jobs, replicas, transport, prisma, artifacts, limits, tracing } = services;
  replicas.close();
  await idempotency.close();
  await jobs.close();
  await limits.close();
  await transport.close();
  await prisma.$disconnect();
  await artifacts.close();
  await tracing.close();
}

function openTransport(config: ApiConfig, metrics: Metrics, logger: Logger): Promise<QueueTransport> {
  const { queueUrl: url, namespace, affinityMs: stickyMs } = config;
  return createTransport({
    url,
    namespace,
    clientName: 'api',
    warn: (message, error) => logger.warn({ error }, message),
    ...(stickyMs > 0 && { affinity: { stickyMs, onDecision: countAffinity(metrics) } }),
  });
}

/** Workers cancel the jobs of a replica that falls silent. */
async function joinCluster(transport: QueueTransport): Promise<void> {
  const processId = randomUUID();
  const replyAddress = transport.replies.address;
  await transport.membership.join(() => ({ processId, role: 'api', replyAddress, models: [] }));
}
