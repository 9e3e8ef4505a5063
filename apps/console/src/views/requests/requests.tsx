import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Page, RequestRow } from '../../api/admin-responses.js';
import type { Session } from '../../api/session.js';
import { useQuery } from '../../api/use-query.js';
import { Badge } from '../../components/badge.js';
import { SelectField } from '../../components/fields.js';
import { FilterBar, scopeOf, TextFilter } from '../../components/filter-bar.js';
import { Paging } from '../../components/paging.js';
import { PlaceLink } from '../../components/place-link.js';
import { QueryView } from '../../components/states.js';
import { type Column, Table } from '../../components/table.js';
import { Time } from '../../components/time.js';
import { formatMoney, parseNanos } from '../../format/money.js';
import { formatCount } from '../../format/numbers.js';
import { formatDuration } from '../../format/time.js';
import type { Filters } from '../../routing/place.js';
import { rangeOf, viewerZone } from '../../routing/range.js';
import { setFilters } from '../../routing/use-place.js';
import type { ViewProps } from '../../shell/view-props.js';
import { RequestPage } from './request-page.js';

const pageSize = 50;
const refreshMs = 15_000;
const states: [string, string][] = [
  ['', 'All'],
  ['queued', 'Queued'],
  ['running', 'Running'],
  ['succeeded', 'Succeeded'],
  ['failed', 'Failed'],
  ['cancelled', 'Cancelled'],
  ['expired', 'Expired'],
];

/** The requests of the account or the installation. Prompts and outputs are never kept, so there are none to show. */
export function Requests({ place: { entry, filters }, session }: ViewProps): JSX.Element {
  return entry === null ? (
    <RequestList filters={filters} session={session} />
  ) : (
    <RequestPage id={entry} filters={filters} />
  );
}

function RequestList({ filters, session }: { filters: Filters; session: Session }): JSX.Element {
  // Cursors of the pages before this one; the last is the current page.
  const [cursors, setCursors] = useState<string[]>([]);
  const selection = JSON.stringify(filters);
  useEffect(() => setCursors([]), [selection]);
  const cursor = cursors.at(-1);
  const { model, key, state, id } = filters;
  const paging = { scope: scopeOf(filters, session), cursor, limit: pageSize };
  // An id from a log line is looked for among all requests.
  const query =
    id === undefined
      ? { ...paging, ...rangeOf(filters, viewerZone(), new Date()), model, key, state }
      : { ...paging, id };
  const requests = useQuery<Page<RequestRow>>('api/admin/v1/requests', {
    query,
    refreshMs: cursor === undefined ? refreshMs : undefined,
  });
  return (
    <>
      <FilterBar filters={filters} session={session}>
        <SelectField
          label="State"
          value={state ?? ''}
          onChange={(value) => setFilters({ state: value })}
          options={states}
        />
        <TextFilter filters={filters} name="id" label="Request id" hint="From a log line, CF-RAY or a response" />
      </FilterBar>
      <QueryView query={requests}>
        {({ data, nextCursor }) => (
          <>
            <Table
              caption="Requests, newest first"
              rows={data}
              rowKey={(row) => row.id}
              empty="No request matches. Choose a longer range, or remove a filter."
              columns={requestColumns(filters)}
            />
            <Paging cursors={cursors} setCursors={setCursors} nextCursor={nextCursor} />
          </>
        )}
      </QueryView>
    </>
  );
}

function requestColumns(filters: Filters): Column<RequestRow>[] {
  const number = (
    title: string,
    read: (row: RequestRow) => number | null,
    format: (value: number | null) => string,
  ): Column<RequestRow> => ({ title, cell: (row) => format(read(row)), sort: read, isNumber: true });
  return [
    {
      title: 'Time',
      cell: ({ id, createdAt }) => (
        <PlaceLink view="requests" entry={id} filters={filters}>
          <Time at={createdAt} />
        </PlaceLink>
      ),
      sort: ({ createdAt }) => createdAt,
    },
    { title: 'Model', cell: ({ model }) => model, sort: ({ model }) => model },
    { title: 'Type', cell: ({ type }) => type, sort: ({ type }) => type },
    { title: 'State', cell: (row) => <StateCell row={row} />, sort: ({ state }) => state },
    number('Queued', ({ queuedMs }) => queuedMs, formatDuration),
    number('First token', ({ firstTokenMs }) => firstTokenMs, formatDuration),
    number('Execution', ({ executionMs }) => executionMs, formatDuration),
    number('Total', ({ totalMs }) => totalMs, formatDuration),
    { ...number('Prompt', ({ promptTokens }) => promptTokens, formatCount), cell: promptText },
    number('Output', ({ completionTokens }) => completionTokens, formatCount),
    {
      title: 'Spend',
      cell: ({ spend }) => formatMoney(spend),
      sort: ({ spend }) => (spend === null ? null : parseNanos(spend)),
      isNumber: true,
    },
    { title: 'Worker', cell: ({ worker }) => worker ?? '–', sort: ({ worker }) => worker },
  ];
}

function promptText({ promptTokens, cachedTokens }: RequestRow): string {
  const cached = cachedTokens === null || cachedTokens === 0 ? '' : ` (${formatCount(cachedTokens)} cached)`;
  return `${formatCount(promptTokens)}${cached}`;
}

function StateCell({ row: { state, errorCode } }: { row: RequestRow }): JSX.Element {
  return (
    <>
      <Badge state={state} />
      {errorCode !== null && <code class="small"> {errorCode}</code>}
    </>
  );
}
