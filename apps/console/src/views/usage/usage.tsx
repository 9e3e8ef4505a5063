import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { UsageFigures, UsageGroup, UsageResponse } from '../../api/admin-responses.js';
import { useQuery } from '../../api/use-query.js';
import { Chart } from '../../components/chart.js';
import { DownloadButton } from '../../components/download-button.js';
import { SelectField } from '../../components/fields.js';
import { FilterBar, scopeOf } from '../../components/filter-bar.js';
import { PlaceLink } from '../../components/place-link.js';
import { QueryView } from '../../components/states.js';
import { type Column, Table } from '../../components/table.js';
import { formatMoney, parseNanos, toPlotValue } from '../../format/money.js';
import { formatCount } from '../../format/numbers.js';
import { type Filters, keepShared } from '../../routing/place.js';
import { rangeOf, startOfDay, viewerZone } from '../../routing/range.js';
import { setFilters } from '../../routing/use-place.js';
import type { ViewProps } from '../../shell/view-props.js';

const groupings: Record<string, string> = { day: 'Day', model: 'Model', key: 'API key', type: 'Type' };
const refreshMs = 60_000;

/** Usage and cost, by day, model, key or type. The sums are those of the ledger, and each leads to its requests. */
export function Usage({ place: { filters }, session }: ViewProps): JSX.Element {
  const groupBy = Object.hasOwn(groupings, filters['groupBy'] ?? '') ? (filters['groupBy'] ?? 'day') : 'day';
  const zone = viewerZone();
  const query = {
    ...rangeOf(filters, zone, new Date()),
    scope: scopeOf(filters, session),
    groupBy,
    model: filters['model'],
    key: filters['key'],
  };
  const usage = useQuery<UsageResponse>('api/admin/v1/usage', { query, refreshMs });
  return (
    <>
      <FilterBar filters={filters} session={session}>
        <SelectField
          label="Group by"
          value={groupBy}
          onChange={(value) => setFilters({ groupBy: value })}
          options={Object.entries(groupings)}
        />
        <DownloadButton
          path="api/admin/v1/usage.csv"
          query={query}
          fileName={`usage-${query.from}-${query.to}-by-${groupBy}.csv`}
        >
          Download CSV
        </DownloadButton>
      </FilterBar>
      <QueryView query={usage}>
        {(data) => (
          <>
            {groupBy === 'day' && <SpendPerDay groups={data.groups} zone={zone} currency={data.currency} />}
            <UsageTable data={data} groupBy={groupBy} filters={filters} />
          </>
        )}
      </QueryView>
    </>
  );
}

function SpendPerDay({
  groups,
  zone,
  currency,
}: {
  groups: UsageGroup[];
  zone: string;
  currency: string;
}): JSX.Element {
  const { times, series } = useMemo(() => {
    const days = groups.toSorted((left, right) => left.key.localeCompare(right.key));
    return {
      times: days.map(({ key }) => Date.parse(startOfDay(key.slice(0, 10), zone)) / 1000),
      series: [{ label: 'Spend', values: days.map(({ spend }) => toPlotValue(spend)), color: '--chart-1' }],
    };
  }, [groups, zone]);
  return (
    <Chart
      title={`Spend per day, ${currency}`}
      summary="The table below has the figures of each day."
      times={times}
      series={series}
      isBars
      format={(value) => formatMoney(value.toFixed(9), currency)}
    />
  );
}

interface UsageTableProps {
  data: UsageResponse;
  groupBy: string;
  filters: Filters;
}

function UsageTable({ data, groupBy, filters }: UsageTableProps): JSX.Element {
  const title = groupings[groupBy] ?? 'Group';
  return (
    <Table
      caption={`Usage by ${title.toLowerCase()}`}
      rows={data.groups}
      rowKey={({ key }) => key}
      empty="No request in this range. Choose a longer one, or remove a filter."
      columns={[
        {
          title,
          cell: ({ key, label }) => (
            <PlaceLink view="requests" filters={requestsOf(groupBy, key, filters)}>
              {groupBy === 'day' ? <span class="nowrap">{label}</span> : label}
            </PlaceLink>
          ),
          sort: ({ label }) => label,
        },
        ...figureColumns(data.currency),
      ]}
      footer={<TotalRow total={data.total} currency={data.currency} />}
    />
  );
}

/** The filters of the requests behind a group. */
function requestsOf(groupBy: string, key: string, filters: Filters): Filters {
  const shared = keepShared(filters);
  switch (groupBy) {
    case 'day': {
      const { range: _range, ...others } = shared;
      return { ...others, from: key.slice(0, 10), to: key.slice(0, 10) };
    }
    case 'model':
      return { ...shared, model: key };
    case 'key':
      return { ...shared, key };
    default:
      return shared;
  }
}

function figureColumns(currency: string): Column<UsageGroup>[] {
  const count = (title: string, read: (group: UsageGroup) => number): Column<UsageGroup> => ({
    title,
    cell: (group) => formatCount(read(group)),
    sort: read,
    isNumber: true,
  });
  return [
    count('Requests', ({ requests }) => requests),
    count('Failed', ({ failed }) => failed),
    count('Prompt tokens', ({ promptTokens }) => promptTokens),
    count('of them cached', ({ cachedTokens }) => cachedTokens),
    count('Output tokens', ({ completionTokens }) => completionTokens),
    {
      title: 'Spend',
      cell: ({ spend }) => formatMoney(spend, currency),
      sort: ({ spend }) => parseNanos(spend),
      isNumber: true,
    },
  ];
}

function TotalRow({ total, currency }: { total: UsageFigures; currency: string }): JSX.Element {
  const counts = [total.requests, total.failed, total.promptTokens, total.cachedTokens, total.completionTokens];
  return (
    <tr>
      <th scope="row">Total</th>
      {counts.map((value, index) => (
        <td key={index} class="number">
          {formatCount(value)}
        </td>
      ))}
      <td class="number">{formatMoney(total.spend, currency)}</td>
    </tr>
  );
}
