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
  const { attempts, reservation, ledgerEntries } = request;
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
      {Array.isArray(attempts) && <RecordTable caption="Attempts" records={attempts} />}
      {reservation !== null && reservation !== undefined && (
        <RecordTable caption="Reservation" records={[reservation]} />
      )}
      {ledgerEntries !== undefined && <RecordTable caption="Ledger entries" records={ledgerEntries} />}
    </>
  );
}

function factsOf(request: RequestDetail): [string, ComponentChildren][] {
  const { attempts, errorCode, status } = request;
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
    ['API key', request.key ?? '–'],
    ['Worker', request.worker ?? '–'],
    ['Queue id', request.queueId ?? '–'],
    ['Waited in the queue', formatDuration(request.queuedMs)],
    ['Until the first token', formatDuration(request.firstTokenMs)],
    ['In all', formatDuration(request.totalMs)],
    ['Prompt tokens', `${formatCount(request.promptTokens)}, ${formatCount(request.cachedTokens)} of them cached`],
    ['Output tokens', formatCount(request.completionTokens)],
    ['Spend', formatMoney(request.spend)],
    ...(typeof attempts === 'number' ? [['Attempts', String(attempts)] as [string, ComponentChildren]] : []),
  ];
}

/** Shows records of the service by the names of their members. */
function RecordTable({ caption, records }: { caption: string; records: Record<string, unknown>[] }): JSX.Element {
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const rows = records.map((record, index) => ({ index, record }));
  return (
    <Table<(typeof rows)[number]>
      caption={caption}
      rows={rows}
      rowKey={({ index }) => String(index)}
      empty="None."
      columns={names.map((name) => ({ title: name, cell: ({ record }) => textOf(name, record[name]) }))}
    />
  );
}

function textOf(name: string, value: unknown): string {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'string') return name.endsWith('At') ? formatTime(value) : value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return JSON.stringify(value);
}
