import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { getJson } from '../../api/client.js';
import type { RequestError } from '../../api/request-error.js';
import { toRequestError, useQuery } from '../../api/use-query.js';
import { PlaceLink } from '../../components/place-link.js';
import { Failure, QueryView } from '../../components/states.js';
import { type Column, Table } from '../../components/table.js';
import { decimalOf, formatMoney, parseNanos } from '../../format/money.js';
import { formatTime } from '../../format/time.js';
import type { ViewProps } from '../../shell/menu.js';
import { CreateKey } from './create-key.js';
import type { ApiKey } from './key-responses.js';

const periods: Record<string, string> = { EPOCH: 'per day (UTC)', MONTH: 'per month (UTC)', LIFETIME: 'in all' };

/** The keys of the account: create, limit and revoke them. */
export function ApiKeys({ session }: ViewProps): JSX.Element {
  const query = useQuery<{ data: ApiKey[] }>('api/v1/api_keys');
  const [error, setError] = useState<RequestError | null>(null);
  const [revoking, setRevoking] = useState<string | null>(null);

  const revoke = (id: string): void => {
    setError(null);
    getJson('api/v1/api_keys', { method: 'DELETE', query: { id } })
      .then(query.reload, (failure: unknown) => setError(toRequestError(failure)))
      .finally(() => setRevoking(null));
  };

  return (
    <>
      <CreateKey onCreated={query.reload} />
      {error !== null && <Failure error={error} />}
      <QueryView query={query}>
        {({ data }) => (
          <Table
            caption="API keys of the account"
            rows={data}
            rowKey={({ id }) => id}
            empty="The account has no key."
            columns={[
              ...keyColumns,
              {
                title: 'Revoke',
                cell: (key) => (
                  <RevokeButton
                    apiKey={key}
                    isOwn={key.id === session.key.id}
                    isAsking={revoking === key.id}
                    ask={setRevoking}
                    revoke={revoke}
                  />
                ),
              },
            ]}
          />
        )}
      </QueryView>
    </>
  );
}

const keyColumns: Column<ApiKey>[] = [
  { title: 'Description', cell: ({ description }) => description, sort: ({ description }) => description },
  { title: 'Key', cell: ({ last6Chars }) => <code>…{last6Chars}</code> },
  { title: 'Type', cell: ({ apiKeyType }) => apiKeyType.toLowerCase(), sort: ({ apiKeyType }) => apiKeyType },
  { title: 'Limit', cell: limitText, isNumber: true },
  {
    title: 'Spent in 7 days',
    cell: ({ id, usage }) => (
      <PlaceLink view="usage" filters={{ key: id }}>
        {formatMoney(usage?.trailingSevenDays.usd)}
      </PlaceLink>
    ),
    sort: ({ usage }) => (usage === undefined ? null : parseNanos(usage.trailingSevenDays.usd)),
    isNumber: true,
  },
  { title: 'Last used', cell: ({ lastUsedAt }) => formatTime(lastUsedAt), sort: ({ lastUsedAt }) => lastUsedAt },
  { title: 'Created', cell: ({ createdAt }) => formatTime(createdAt), sort: ({ createdAt }) => createdAt },
  {
    title: 'Expires',
    cell: ({ expiresAt }) => (expiresAt === null ? 'never' : formatTime(expiresAt)),
    sort: ({ expiresAt }) => expiresAt,
  },
];

function limitText({ consumptionLimits, limitPeriod, currentPeriodUsage }: ApiKey): JSX.Element {
  const { usd } = consumptionLimits;
  if (usd === null) return <>none</>;
  return (
    <>
      {currentPeriodUsage !== undefined && `${formatMoney(currentPeriodUsage.usd)} of `}
      {formatMoney(decimalOf(usd))} {periods[limitPeriod] ?? limitPeriod}
    </>
  );
}

interface RevokeButtonProps {
  apiKey: ApiKey;
  /** The key that signed in to the console. */
  isOwn: boolean;
  isAsking: boolean;
  ask: (id: string | null) => void;
  revoke: (id: string) => void;
}

function RevokeButton({ apiKey, isOwn, isAsking, ask, revoke }: RevokeButtonProps): JSX.Element {
  const { id, description } = apiKey;
  if (!isAsking) {
    return (
      <button type="button" aria-label={`Revoke ${description}`} onClick={() => ask(id)}>
        Revoke
      </button>
    );
  }
  return (
    <span class="confirm">
      {isOwn ? 'This key signed you in. Its requests fail from now on.' : 'Its requests fail from now on.'}{' '}
      <button type="button" class="danger" onClick={() => revoke(id)}>
        Revoke
      </button>
      <button type="button" onClick={() => ask(null)}>
        Keep
      </button>
    </span>
  );
}
