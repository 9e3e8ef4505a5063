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
import type { ViewProps } from '../../shell/menu.js';

const refreshMs = 5000;

const scopes = { operator: 'The whole installation', admin: 'Your account', inference: 'Your API key' } as const;

/** The last hour: what runs, what waits, what fails, and what it costs. */
export function Overview({ session }: ViewProps): JSX.Element {
  const query = useQuery<OverviewResponse>('api/admin/v1/overview', { refreshMs });
  return (
    <QueryView query={query}>
      {(overview) => (
        <>
          <p class="weak">
            {scopes[session.role]}, since {formatTime(overview.since)}
          </p>
          <OverviewFigures overview={overview} isOperator={session.role === 'operator'} />
          <RequestsPerMinute perMinute={overview.requests.perMinute} />
          <QueueTable queue={overview.queue} />
        </>
      )}
    </QueryView>
  );
}

function OverviewFigures({ overview, isOperator }: { overview: OverviewResponse; isOperator: boolean }): JSX.Element {
  const { requests, tokensPerSecond, spendToday, queue, workers, models } = overview;
  const count = requests.perMinute.reduce((sum, [, value]) => sum + value, 0);
  const failed = requests.perMinute.reduce((sum, [, , value]) => sum + value, 0);
  const waiting = queue.reduce((sum, { waiting: value }) => sum + value, 0);
  const running = queue.reduce((sum, { running: value }) => sum + value, 0);
  const lastHour = { range: '1h' };
  return (
    <Figures>
      <Figure
        label="Requests in the last hour"
        value={
          <PlaceLink view="requests" filters={lastHour}>
            {formatCount(count)}
          </PlaceLink>
        }
        note={
          <PlaceLink view="requests" filters={{ ...lastHour, state: 'failed' }}>
            {formatCount(failed)} failed
          </PlaceLink>
        }
      />
      <Figure label="Tokens per second" value={formatRate(tokensPerSecond)} />
      <Figure
        label="Spent today"
        value={
          <PlaceLink view="usage" filters={{ range: '24h' }}>
            {formatMoney(spendToday)}
          </PlaceLink>
        }
      />
      <Figure
        label="Waiting jobs"
        value={isOperator ? <PlaceLink view="queue">{formatCount(waiting)}</PlaceLink> : formatCount(waiting)}
        note={`${formatCount(running)} running`}
      />
      <Figure
        label="Workers"
        value={
          isOperator ? <PlaceLink view="queue">{formatCount(workers.online)}</PlaceLink> : formatCount(workers.online)
        }
        note={workers.draining > 0 ? `${formatCount(workers.draining)} draining` : 'online'}
      />
      <Figure
        label="Models online"
        value={<PlaceLink view="models">{formatCount(models.online)}</PlaceLink>}
        note={`${formatCount(models.offline)} offline`}
      />
    </Figures>
  );
}

function RequestsPerMinute({ perMinute }: OverviewResponse['requests']): JSX.Element {
  const { times, series, summary } = useMemo(() => {
    const total = perMinute.reduce((sum, [, count]) => sum + count, 0);
    const failed = perMinute.reduce((sum, [, , errors]) => sum + errors, 0);
    return {
      times: perMinute.map(([time]) => new Date(time).getTime() / 1000),
      series: [
        { label: 'Requests', values: perMinute.map(([, count]) => count), color: '--chart-1' },
        { label: 'Failed', values: perMinute.map(([, , errors]) => errors), color: '--chart-error' },
      ],
      summary: `${total} requests in the last hour, ${failed} of them failed.`,
    };
  }, [perMinute]);
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
