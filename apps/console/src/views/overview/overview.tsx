import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { OverviewResponse } from '../../api/admin-responses.js';
import { useQuery } from '../../api/use-query.js';
import { Chart } from '../../components/chart.js';
import { Figure, Figures } from '../../components/figure.js';
import { PlaceLink } from '../../components/place-link.js';
import { QueryView } from '../../components/states.js';
import { Table } from '../../components/table.js';
import { formatMoney } from '../../format/money.js';
import { formatCount, formatRate } from '../../format/numbers.js';
import { formatDuration, formatTime } from '../../format/time.js';
import { viewerZone } from '../../routing/range.js';
import type { ViewProps } from '../../shell/view-props.js';

const refreshMs = 5000;

const scopes = { installation: 'The whole installation', account: 'Your account', key: 'Your API key' } as const;

/** The last hour: what runs, what waits, what fails, and what it costs. */
export function Overview({ session }: ViewProps): JSX.Element {
  const query = useQuery<OverviewResponse>('api/admin/v1/overview', {
    query: { tz: viewerZone() },
    refreshMs,
  });
  return (
    <QueryView query={query}>
      {(overview) => (
        <>
          <p class="weak">
            {scopes[overview.scope]}, since {formatTime(overview.since)}
          </p>
          <OverviewFigures overview={overview} isOperator={session.role === 'operator'} />
          <RequestsPerMinute minutes={overview.minutes} />
          <QueueTable queue={overview.queue} />
        </>
      )}
    </QueryView>
  );
}

function OverviewFigures({ overview, isOperator }: { overview: OverviewResponse; isOperator: boolean }): JSX.Element {
  const { minutes, tokensPerSecond, spendToday, queue, workers, models } = overview;
  const count = minutes.reduce((sum, { requests }) => sum + requests, 0);
  const failed = minutes.reduce((sum, { errors }) => sum + errors, 0);
  const waiting = queue.reduce((sum, { waiting: value }) => sum + value, 0);
  const running = queue.reduce((sum, { running: value }) => sum + value, 0);
  const today = { range: 'today' };
  return (
    <Figures>
      <Figure
        label="Requests, last hour"
        value={
          <PlaceLink view="requests" filters={today}>
            {formatCount(count)}
          </PlaceLink>
        }
        note={
          <PlaceLink view="requests" filters={{ ...today, state: 'failed' }}>
            {formatCount(failed)} failed
          </PlaceLink>
        }
      />
      <Figure label="Tokens per second" value={formatRate(tokensPerSecond)} />
      <Figure
        label="Spent today"
        value={
          <PlaceLink view="usage" filters={{ range: 'today' }}>
            {formatMoney(spendToday)}
          </PlaceLink>
        }
      />
      <Figure
        label="Waiting jobs"
        value={isOperator ? <PlaceLink view="queue">{formatCount(waiting)}</PlaceLink> : formatCount(waiting)}
        note={`${formatCount(running)} running`}
      />
      {workers !== null && (
        <Figure
          label="Workers"
          value={<PlaceLink view="queue">{formatCount(workers.online)}</PlaceLink>}
          note={workers.draining > 0 ? `${formatCount(workers.draining)} draining` : 'online'}
        />
      )}
      <Figure
        label="Models online"
        value={<PlaceLink view="models">{formatCount(models.online)}</PlaceLink>}
        note={`${formatCount(models.offline)} offline`}
      />
    </Figures>
  );
}

function RequestsPerMinute({ minutes }: Pick<OverviewResponse, 'minutes'>): JSX.Element {
  const { times, series, summary } = useMemo(() => {
    const total = minutes.reduce((sum, { requests }) => sum + requests, 0);
    const failed = minutes.reduce((sum, { errors }) => sum + errors, 0);
    return {
      times: minutes.map(({ at }) => Date.parse(at) / 1000),
      series: [
        { label: 'Requests', values: minutes.map(({ requests }) => requests), color: '--chart-1' },
        { label: 'Failed', values: minutes.map(({ errors }) => errors), color: '--chart-error' },
      ],
      summary: `${total} requests in the last hour, ${failed} of them failed.`,
    };
  }, [minutes]);
  return <Chart title="Requests per minute" summary={summary} times={times} series={series} format={formatCount} />;
}

function QueueTable({ queue }: { queue: OverviewResponse['queue'] }): JSX.Element {
  return (
    <Table
      caption="Jobs by type"
      rows={queue}
      rowKey={({ type }) => type}
      empty="No job waits or runs."
      columns={[
        { title: 'Type', cell: ({ type }) => type, sort: ({ type }) => type },
        {
          title: 'Waiting',
          cell: ({ waiting }) => formatCount(waiting),
          sort: ({ waiting }) => waiting,
          isNumber: true,
        },
        {
          title: 'Running',
          cell: ({ running }) => formatCount(running),
          sort: ({ running }) => running,
          isNumber: true,
        },
        {
          title: 'Oldest waits',
          cell: ({ oldestMs }) => formatDuration(oldestMs),
          sort: ({ oldestMs }) => oldestMs,
          isNumber: true,
        },
      ]}
    />
  );
}
