import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { BillingEntry, BillingResponse, TopUpRow } from '../../api/operations-responses.js';
import { useQuery } from '../../api/use-query.js';
import { Badge } from '../../components/badge.js';
import { Figure, Figures } from '../../components/figure.js';
import { PlaceLink } from '../../components/place-link.js';
import { Paging } from '../../components/paging.js';
import { QueryView } from '../../components/states.js';
import { type Column, Table } from '../../components/table.js';
import { Time } from '../../components/time.js';
import { formatMoney, parseNanos } from '../../format/money.js';

const refreshMs = 30_000;

/** Balances, reservations, payments of wallets and the entries of the ledger. */
export function Billing(): JSX.Element {
  const [cursors, setCursors] = useState<string[]>([]);
  const cursor = cursors.at(-1);
  const billing = useQuery<BillingResponse>('api/admin/v1/billing', {
    query: { limit: 50, cursor },
    refreshMs: cursor === undefined ? refreshMs : undefined,
  });
  return (
    <QueryView query={billing}>
      {({ balances, reserved, entries, topUps }) => (
        <>
          <Figures>
            <Figure label="Balance in USD" value={formatMoney(balances.usd)} />
            <Figure label="Bundled credits" value={formatMoney(balances.bundled)} />
            {balances.diem !== null && (
              <Figure
                label="DIEM left today"
                value={formatMoney(balances.diem, 'DIEM')}
                note={balances.diemAllowance === null ? undefined : `of ${formatMoney(balances.diemAllowance, 'DIEM')}`}
              />
            )}
            <Figure label="Reserved for open requests" value={formatMoney(reserved)} />
          </Figures>
          {topUps.length > 0 && (
            <Table
              caption="Payments of wallets, the latest"
              rows={topUps}
              rowKey={({ id }) => id}
              empty="None."
              columns={topUpColumns}
            />
          )}
          <Table
            caption="Entries, newest first"
            rows={entries.data}
            rowKey={({ id }) => id}
            empty="Nothing was charged or credited yet."
            columns={columns}
          />
          <Paging cursors={cursors} setCursors={setCursors} nextCursor={entries.nextCursor} />
        </>
      )}
    </QueryView>
  );
}

const topUpColumns: Column<TopUpRow>[] = [
  { title: 'Time', cell: ({ at }) => <Time at={at} />, sort: ({ at }) => at },
  { title: 'State', cell: ({ state }) => <Badge state={state} />, sort: ({ state }) => state },
  { title: 'Network', cell: ({ network }) => network, sort: ({ network }) => network },
  {
    title: 'Paid',
    cell: ({ amount }) => formatMoney(amount),
    sort: ({ amount }) => parseNanos(amount),
    isNumber: true,
  },
  {
    title: 'Credited',
    cell: ({ credited }) => formatMoney(credited),
    sort: ({ credited }) => parseNanos(credited),
    isNumber: true,
  },
  { title: 'Transaction', cell: ({ transaction }) => (transaction === null ? '–' : <code>{transaction}</code>) },
  { title: 'Note', cell: ({ message }) => message ?? '–' },
];

const columns: Column<BillingEntry>[] = [
  { title: 'Time', cell: ({ at }) => <Time at={at} />, sort: ({ at }) => at },
  { title: 'Kind', cell: ({ kind }) => kind, sort: ({ kind }) => kind },
  { title: 'Position', cell: ({ sku, note }) => sku ?? (note === null || note === '' ? '–' : note) },
  {
    title: 'Amount',
    cell: ({ amount, currency }) => formatMoney(amount, currency),
    sort: ({ amount }) => parseNanos(amount),
    isNumber: true,
  },
  {
    title: 'Request',
    cell: ({ requestId }) =>
      requestId === null ? (
        '–'
      ) : (
        <PlaceLink view="requests" entry={requestId}>
          {requestId}
        </PlaceLink>
      ),
  },
];
