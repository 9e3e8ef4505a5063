import { type AlertRule, alertRules } from '#platform/metrics';
import type { AlertReport } from './alerts.service.js';
import type { AlertsResponse } from './health.response.js';

/** `docsUrl`: the address at which the folder `docs` is published, if it is. */
export function presentAlerts({ alerts, unknown }: AlertReport, docsUrl: string | undefined): AlertsResponse {
  const data = alerts.map(({ alert, summary, state, sinceMs }) => {
    const { severity, forMs, runbook }: AlertRule = alertRules[alert];
    return {
      name: alert,
      severity,
      state,
      summary,
      since: new Date(sinceMs).toISOString(),
      forSeconds: forMs / 1_000,
      runbook: `docs/runbooks/${runbook}.md`,
      runbookUrl: docsUrl === undefined ? null : `${docsUrl.replace(/\/$/, '')}/runbooks/${runbook}.md`,
    };
  });
  return { data, judged: Object.keys(alertRules), unknown };
}
