import type { JSX } from 'preact';
import type { HealthResponse } from '../../api/operations-responses.js';
import { useQuery } from '../../api/use-query.js';
import { Badge } from '../../components/badge.js';
import { QueryView } from '../../components/states.js';
import { Table } from '../../components/table.js';
import { formatCount } from '../../format/numbers.js';
import { formatDuration, formatTime } from '../../format/time.js';

const refreshMs = 10_000;

/** What the service depends on, and whether the ledger was verified. Alerts are those of the metrics. */
export function Health(): JSX.Element {
  const health = useQuery<HealthResponse>('api/admin/v1/health', { refreshMs });
  return (
    <QueryView query={health}>
      {({ version, dependencies, ledger }) => (
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
          <LedgerCheck ledger={ledger} />
        </>
      )}
    </QueryView>
  );
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
