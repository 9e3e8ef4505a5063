import type { ComponentChildren, JSX } from 'preact';
import type { RequestDetail } from '../../api/admin-responses.js';
import { useQuery } from '../../api/use-query.js';
import { CopyButton } from '../../components/copy-button.js';
import { PlaceLink } from '../../components/place-link.js';
import { QueryView } from '../../components/states.js';
import { Table } from '../../components/table.js';
import { formatMoney } from '../../format/money.js';
import { formatCount } from '../../format/numbers.js';
import { formatDuration, formatTime } from '../../format/time.js';
import type { Filters } from '../../routing/place.js';

/** Everything about one request but its content: stages, attempts, reservation and ledger entries. */
export function RequestPage({ id, filters }: { id: string; filters: Filters }): JSX.Element {
  const query = useQuery<RequestDetail>(`api/admin/v1/requests/${encodeURIComponent(id)}`);
  return (
    <>
      <p>
        <PlaceLink view="requests" filters={filters}>
          All requests
        </PlaceLink>
      </p>
      <QueryView query={query}>{(request) => <RequestDetails request={request} />}</QueryView>
    </>
  );
}

function RequestDetails({ request }: { request: RequestDetail }): JSX.Element {
  const { attempts, reservation, entries } = request;
  return (
    <>
      <dl class="details">
        {factsOf(request).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <Table
        caption="Results of attempts"
        rows={attempts}
        rowKey={({ attempt, processedAt }) => `${attempt} ${processedAt}`}
        empty="No worker has finished an attempt."
        columns={[
          { title: 'Attempt', cell: ({ attempt }) => String(attempt), isNumber: true },
          { title: 'Result', cell: ({ status }) => status },
          { title: 'Used', cell: ({ applied }) => (applied ? 'yes' : 'no, it came too late') },
          { title: 'Time', cell: ({ processedAt }) => formatTime(processedAt) },
        ]}
      />
      {reservation !== null && (
        <p>
          Reserved {formatMoney(reservation.reserved)}, {reservation.state}
          {reservation.charged !== null && `, charged ${formatMoney(reservation.charged)}`}.
        </p>
      )}
      <Table
        caption="Ledger entries"
        rows={entries.map((entry, index) => ({ ...entry, index }))}
        rowKey={({ index }) => String(index)}
        empty="The request has cost nothing."
        columns={[
          { title: 'Position', cell: ({ sku }) => sku },
          { title: 'Amount', cell: ({ amount, currency }) => formatMoney(amount, currency), isNumber: true },
          { title: 'Time', cell: ({ createdAt }) => formatTime(createdAt) },
        ]}
      />
    </>
  );
}

function factsOf(request: RequestDetail): [string, ComponentChildren][] {
  const { errorCode, status, key } = request;
  return [
    [
      'Request id',
      <>
        <code>{request.id}</code> <CopyButton text={request.id} />
      </>,
    ],
    ['Created', formatTime(request.createdAt)],
    ['State', request.state],
    ['Status', status === null ? '–' : String(status)],
    ['Error', errorCode === null ? 'none' : <code>{errorCode}</code>],
    ['Model', request.model],
    ['Type', request.type],
    ['API key', `${key.description} …${key.last6}`],
    ['Queue id', request.queueId ?? '–'],
    ['Waited in the queue', formatDuration(request.queuedMs)],
    ['First token after', formatDuration(request.firstTokenMs)],
    ['Finished after', formatDuration(request.totalMs)],
    ['Execution on the worker', formatDuration(request.executionMs)],
    ['Worker', request.worker === null ? '–' : <code>{request.worker}</code>],
    ['Prompt tokens', `${formatCount(request.promptTokens)}, ${formatCount(request.cachedTokens)} of them cached`],
    ['Output tokens', formatCount(request.completionTokens)],
    ['Spend', formatMoney(request.spend)],
    ['Attempt', String(request.attempt)],
    ['Finished', formatTime(request.finishedAt)],
    ...(request.progressPercent === null ? [] : [progressOf(request.progressPercent)]),
  ];
}

function progressOf(percent: number): [string, ComponentChildren] {
  return ['Progress', `${percent} %`];
}
