import { UsageReportService } from '#billing/usage';
import { formatNanos } from '#common';
import { type JobActivity, JobActivityRepository } from '#jobs/inspection';
import { ModelRegistryService } from '#model-registry';
import type { RequestCaller } from '#platform/http';
import { Injectable } from '#platform/injection';
import { QueueTransport } from '#queue';
import { ownScope } from '../admin-query.js';
import type { OverviewMinuteResponse, OverviewResponse } from './overview.response.js';

const minuteMs = 60_000;
const shownMinutes = 60;

/** What happens now. */
@Injectable()
export class OverviewService {
  constructor(
    private readonly activity: JobActivityRepository,
    private readonly reports: UsageReportService,
    private readonly registry: ModelRegistryService,
    private readonly transport: QueueTransport,
  ) {}

  async overview(caller: RequestCaller, timeZone: string): Promise<OverviewResponse> {
    const scope = ownScope(caller);
    const isOperator = caller.isOperator === true;
    const activity = await this.activity.lastHour(isOperator ? { accountId: null, apiKeyId: null } : scope);
    const nowMs = Date.now();
    const spentNano = await this.reports.spentToday({ ...scope, modelId: null }, timeZone, nowMs);
    const minutes = minutesOf(activity, nowMs);
    return {
      scope: isOperator ? 'installation' : caller.kind === 'ADMIN' ? 'account' : 'key',
      since: minutes[0]?.at ?? new Date(nowMs).toISOString(),
      minutes,
      tokensPerSecond: activity.recentTokens / 60,
      spendToday: formatNanos(spentNano, 9),
      queue: activity.open.map(({ modality: type, waiting, running, oldestMs }) => {
        return { type, waiting, running, oldestMs: oldestMs === null ? null : Math.max(0, Math.round(oldestMs)) };
      }),
      workers: isOperator ? this.workers() : null,
      models: await this.models(),
    };
  }

  private workers(): OverviewResponse['workers'] {
    const workers = this.transport.membership.list().filter(({ role }) => role === 'worker');
    return { online: workers.length, draining: workers.filter(({ worker }) => worker?.isDrained === true).length };
  }

  private async models(): Promise<OverviewResponse['models']> {
    const models = await this.registry.list('all');
    const offline = models.filter(({ model_spec: { offline: isOffline } }) => isOffline).length;
    return { online: models.length - offline, offline };
  }
}

/** Every minute of the last hour, also those in which nothing ended. */
function minutesOf({ minutes }: JobActivity, nowMs: number): OverviewMinuteResponse[] {
  const known = new Map(minutes.map((minute) => [minute.minute.getTime(), minute]));
  const lastMs = Math.floor(nowMs / minuteMs) * minuteMs;
  return Array.from({ length: shownMinutes }, (_, index) => {
    const atMs = lastMs - (shownMinutes - 1 - index) * minuteMs;
    const { requests, errors } = known.get(atMs) ?? { requests: 0, errors: 0 };
    return { at: new Date(atMs).toISOString(), requests, errors };
  });
}
