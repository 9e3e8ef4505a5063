import type { JSX } from 'preact';
import type { AlertRow, HealthResponse } from '../../api/operations-responses.js';
import { useQuery } from '../../api/use-query.js';
import { Badge } from '../../components/badge.js';
import { QueryView } from '../../components/states.js';
import { Table } from '../../components/table.js';
import { Time } from '../../components/time.js';
import { formatCount } from '../../format/numbers.js';
import { formatDuration, formatTime } from '../../format/time.js';

const refreshMs = 10_000;

/** Shows what the service depends on, whether the ledger was verified, and the alerts that would fire. */
export function Health(): JSX.Element {
  const health = useQuery<HealthResponse>('api/admin/v1/health', { refreshMs });
  return (
    <QueryView query={health}>
      {({ version, dependencies, ledger, alerts }) => (
        <>
          <p class="weak">Version {version}</p>
          <Table
            caption="Dependencies"
            rows={dependencies}
            rowKey={({ name }) => name}
            empty="None."
            columns={[
              { title: 'Name', cell: ({ name }) => name },
              { title: 'State', cell: ({ ok }) => <Badge state={ok ? 'ok' : 'error'} /> },
              { title: 'Detail', cell: ({ detail }) => detail ?? '–' },
            ]}
          />
          <Alerts alerts={alerts} />
          <LedgerCheck ledger={ledger} />
        </>
      )}
    </QueryView>
  );
}

function Alerts({ alerts: { data, judged, unknown } }: Pick<HealthResponse, 'alerts'>): JSX.Element {
  return (
    <>
      <Table
        caption="Alerts"
        rows={data}
        rowKey={({ name, summary }) => `${name} ${summary}`}
        empty="No alert would fire."
        columns={[
          { title: 'Alert', cell: ({ name }) => name },
          { title: 'State', cell: (alert) => <AlertState alert={alert} /> },
          { title: 'What', cell: ({ summary }) => summary },
          { title: 'Since', cell: ({ since }) => <Time at={since} /> },
          { title: 'Runbook', cell: (alert) => <Runbook alert={alert} /> },
        ]}
      />
      <p class="weak">
        This api judges {judged.length} alerts by the thresholds of the rules for Prometheus, which judges all of them.
        {unknown.length > 0 && ` Not judged now: ${unknown.join(', ')}.`}
      </p>
    </>
  );
}

function AlertState({ alert: { state, severity, forSeconds } }: { alert: AlertRow }): JSX.Element {
  return (
    <>
      <Badge state={state} /> {severity}
      {state === 'pending' && `, fires after ${formatDuration(forSeconds * 1000)}`}
    </>
  );
}

function Runbook({ alert: { runbook, runbookUrl } }: { alert: AlertRow }): JSX.Element {
  return runbookUrl === null ? <code>{runbook}</code> : <a href={runbookUrl}>{runbook}</a>;
}

function LedgerCheck({ ledger }: Pick<HealthResponse, 'ledger'>): JSX.Element {
  if (ledger === null) {
    return (
      <p class="notice notice-warning">
        The ledger has not been verified yet. Run <code>npx sluice ledger verify</code>, or let ops do it.
      </p>
    );
  }
  const { verifiedAt, tookMs, ok, findings } = ledger;
  const cases = findings.filter(({ count }) => count !== 0);
  return (
    <>
      <p>
        Ledger <Badge state={ok ? 'ok' : 'error'} />, verified {formatTime(verifiedAt)} in {formatDuration(tookMs)}:{' '}
        {formatCount(findings.length)} rules,{' '}
        {cases.length === 0 ? 'and all hold' : `${formatCount(cases.length)} broken`}.
      </p>
      {cases.length > 0 && (
        <Table
          caption="Findings in the ledger"
          rows={cases}
          rowKey={({ check }) => check}
          empty="None."
          columns={[
            { title: 'Rule', cell: ({ check }) => check },
            { title: 'Cases', cell: ({ count }) => formatCount(count), isNumber: true },
          ]}
        />
      )}
    </>
  );
}
