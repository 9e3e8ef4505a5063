import { LedgerService, UsageFoldRepository } from '#billing';
import { JobsRepository } from '#jobs';
import { ModelRegistryService } from '#model-registry';
import { type ReadinessReport } from '#platform/health';
import { Inject, Injectable } from '#platform/injection';
import { alertHolds, type AlertName, alertRules } from '#platform/metrics';
import { type Heartbeat, QueueTransport } from '#queue';
import { type AlertCondition, AlertStates, type JudgedAlert } from './alert-states.js';

/** The alerts of an installation now. */
export interface AlertReport {
  alerts: JudgedAlert[];
  /** Alerts whose figures could not be read. */
  unknown: AlertName[];
}

/** The part of the transport that knows about other processes and its store. */
interface AlertSource {
  readonly membership: Pick<QueueTransport['membership'], 'lagMs' | 'list'>;
  readonly storeMemory: QueueTransport['storeMemory'];
}

/** Reads the figures of some alerts, and returns the conditions that hold. */
interface Judge {
  alerts: readonly AlertName[];
  judge: () => AlertCondition[] | Promise<AlertCondition[]>;
}

/**
 * Judges the alerts whose figures an api has. The others need what Prometheus collects from every process over time
 * (docs/operate/observability.md).
 */
@Injectable()
export class AlertsService {
  private readonly states = new AlertStates();

  constructor(
    private readonly jobs: JobsRepository,
    private readonly ledger: LedgerService,
    private readonly usage: UsageFoldRepository,
    private readonly registry: ModelRegistryService,
    @Inject(QueueTransport) private readonly transport: AlertSource,
  ) {}

  /** Never rejects: figures that cannot be read are a finding of their own. */
  async report(dependencies: ReadinessReport): Promise<AlertReport> {
    const judges = this.judges(dependencies);
    const results = await Promise.allSettled(judges.map(async ({ judge }) => judge()));
    const conditions = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    const unknown = judges.flatMap(({ alerts }, index) => (results[index]?.status === 'rejected' ? alerts : []));
    return { alerts: this.states.judge(conditions, Date.now()), unknown };
  }

  private judges(dependencies: ReadinessReport): Judge[] {
    return [
      { alerts: ['SluiceStoreDown'], judge: () => judgeStores(dependencies) },
      { alerts: ['SluiceBusSlow'], judge: () => judgeBus(this.transport.membership.lagMs) },
      { alerts: ['SluiceQueueMemoryHigh'], judge: () => judgeMemory(this.transport.storeMemory) },
      {
        alerts: ['SluiceProviderFallback', 'SluiceModelLoadFails'],
        judge: () => this.transport.membership.list().flatMap(judgeWorker),
      },
      { alerts: ['SluiceJobsWaitLong', 'SluiceModelWithoutWorker'], judge: () => this.judgeJobs() },
      { alerts: ['SluiceLedgerBroken', 'SluiceLedgerNotVerified'], judge: () => this.judgeLedger() },
      { alerts: ['SluiceReservationsNotClosed'], judge: () => this.judgeReservations() },
      { alerts: ['SluiceUsageNotFolded'], judge: () => this.judgeFold() },
    ];
  }

  private async judgeJobs(): Promise<AlertCondition[]> {
    const [open, inventory] = await Promise.all([this.jobs.countOpen(), this.registry.inventory()]);
    const waiting = open.flatMap(({ modality, modelId, state, oldestSeconds }): AlertCondition[] => {
      if (state !== 'queued') return [];
      const summary = `The oldest job of ${modality}.${modelId} has waited for ${Math.round(oldestSeconds)} s.`;
      return conditionOf('SluiceJobsWaitLong', [oldestSeconds], {
        subject: `${modality}.${modelId}`,
        summary,
        heldMs: exceededMs('SluiceJobsWaitLong', oldestSeconds),
      });
    });
    const models = this.transport.membership.list().flatMap((heartbeat) => heartbeat.models);
    const unserved = inventory.flatMap(({ manifest: { id } }) => {
      const jobs = open.filter(({ modelId }) => modelId === id).reduce((sum, { count }) => sum + count, 0);
      const ready = models.filter(({ modelId, state }) => modelId === id && state === 'ready').length;
      const summary = `Jobs of ${id} are open and no worker serves it.`;
      return conditionOf('SluiceModelWithoutWorker', [jobs, ready], { subject: id, summary });
    });
    return [...waiting, ...unserved];
  }

  private async judgeLedger(): Promise<AlertCondition[]> {
    const verification = await this.ledger.lastVerification();
    if (verification === null) return [];
    const broken = Object.entries(verification.breaks).flatMap(([check, count]) => {
      const summary = `The ledger violates an invariant: ${check} is ${count}.`;
      return conditionOf('SluiceLedgerBroken', [Math.abs(count)], { subject: check, summary });
    });
    return [...broken, ...judgeAge('SluiceLedgerNotVerified', verification.verifiedAt, 'The ledger was last verified')];
  }

  private async judgeReservations(): Promise<AlertCondition[]> {
    const { open, anyClosed } = await this.ledger.reservationFlow(alertRules.SluiceReservationsNotClosed.windowMs);
    const summary = `${open} reservations are open and none was closed for half an hour.`;
    return conditionOf('SluiceReservationsNotClosed', [open, anyClosed ? 1 : 0], { subject: '', summary });
  }

  private async judgeFold(): Promise<AlertCondition[]> {
    const through = await this.usage.foldedThrough();
    return through === null ? [] : judgeAge('SluiceUsageNotFolded', through, 'Usage was last summed up');
  }
}

function judgeStores({ checks, reasons = {} }: ReadinessReport): AlertCondition[] {
  return Object.entries(checks).flatMap(([name, state]) => {
    const reason = reasons[name] === undefined ? '' : ` ${reasons[name]}`;
    const summary = `The api does not reach its ${name}.${reason}`;
    return conditionOf('SluiceStoreDown', [state === 'ok' ? 1 : 0], { subject: name, summary });
  });
}

function judgeBus(lagMs: number | null): AlertCondition[] {
  const summary = `Bus messages of the api take ${lagMs} ms.`;
  return conditionOf('SluiceBusSlow', [(lagMs ?? 0) / 1_000], { subject: '', summary });
}

function judgeMemory(memory: QueueTransport['storeMemory']): AlertCondition[] {
  if (memory === null) return [];
  const used = memory.usedBytes / memory.limitBytes;
  const summary = `Redis uses ${Math.round(used * 100)} % of its memory; at 90 % requests are refused.`;
  return conditionOf('SluiceQueueMemoryHigh', [used], { subject: '', summary });
}

function judgeWorker({ processId, models, worker }: Heartbeat): AlertCondition[] {
  const fallbacks = models.flatMap(({ modelId, provider, providerNote }) => {
    const summary = `${modelId} runs on ${provider} on ${processId}: ${providerNote}`;
    return conditionOf('SluiceProviderFallback', [providerNote === undefined ? 0 : 1], {
      subject: `${modelId} ${processId}`,
      summary,
    });
  });
  const failed = (worker?.withoutReplica ?? []).filter(({ cause }) => cause === 'failed');
  const names = failed.map(({ modelId }) => modelId).join(', ');
  const summary = `The worker ${processId} cannot load ${names}.`;
  return [...fallbacks, ...conditionOf('SluiceModelLoadFails', [failed.length], { subject: processId, summary })];
}

function judgeAge(alert: 'SluiceLedgerNotVerified' | 'SluiceUsageNotFolded', at: Date, what: string): AlertCondition[] {
  const ageSeconds = (Date.now() - at.getTime()) / 1_000;
  const heldMs = exceededMs(alert, ageSeconds);
  return conditionOf(alert, [ageSeconds], { subject: '', summary: `${what} at ${at.toISOString()}.`, heldMs });
}

/** Returns how long an age has been above the threshold of its rule, in ms: ages grow with the time. */
function exceededMs(
  alert: 'SluiceJobsWaitLong' | 'SluiceLedgerNotVerified' | 'SluiceUsageNotFolded',
  ageSeconds: number,
): number {
  return Math.max(0, ageSeconds - alertRules[alert].comparisons[0][1]) * 1_000;
}

function conditionOf(
  alert: AlertName,
  values: readonly number[],
  condition: Omit<AlertCondition, 'alert'>,
): AlertCondition[] {
  return alertHolds(alert, ...values) ? [{ alert, ...condition }] : [];
}
