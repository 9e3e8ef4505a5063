import type { JSX } from 'preact';
import { getJson } from '../../api/client.js';
import type { Session } from '../../api/session.js';
import { useQuery } from '../../api/use-query.js';
import { useTask } from '../../api/use-task.js';
import { ConfirmButton } from '../../components/confirm-button.js';
import { PlaceLink } from '../../components/place-link.js';
import { Failure, QueryView } from '../../components/states.js';
import { type Column, Table } from '../../components/table.js';
import { Time } from '../../components/time.js';
import { decimalOf, formatMoney, parseNanos } from '../../format/money.js';
import type { ViewProps } from '../../shell/view-props.js';
import { CreateKey } from './create-key.js';
import type { ApiKey } from './key-responses.js';

const periods: Record<string, string> = { EPOCH: 'per day (UTC)', MONTH: 'per month (UTC)', LIFETIME: 'in all' };

/** The keys of the account: create, limit and revoke them. */
export function ApiKeys({ session }: ViewProps): JSX.Element {
  const query = useQuery<{ data: ApiKey[] }>('api/v1/api_keys');
  const task = useTask<unknown>();
  const revoke = (id: string): void => {
    task.run(async (signal) => {
      await getJson('api/v1/api_keys', { method: 'DELETE', query: { id }, signal });
      query.reload();
    });
  };

  return (
    <>
      <CreateKey onCreated={query.reload} />
      {task.error !== null && <Failure error={task.error} />}
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
                  <ConfirmButton
                    label="Revoke"
                    description={`Revoke ${key.description}`}
                    warning={warningOf(key, session)}
                    isBusy={task.isBusy}
                    onConfirm={() => revoke(key.id)}
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
  { title: 'Key', cell: ({ last6Chars }) => <code class="nowrap">…{last6Chars}</code> },
  { title: 'Type', cell: ({ apiKeyType }) => apiKeyType.toLowerCase(), sort: ({ apiKeyType }) => apiKeyType },
  { title: 'Limit', cell: limitText },
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
  { title: 'Last used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />, sort: ({ lastUsedAt }) => lastUsedAt },
  { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} />, sort: ({ createdAt }) => createdAt },
  {
    title: 'Expires',
    cell: ({ expiresAt }) => (expiresAt === null ? 'never' : <Time at={expiresAt} />),
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

function warningOf({ id }: ApiKey, session: Session): string {
  const warning = 'Its requests fail from now on.';
  return id === session.key.id ? `This key signed you in. ${warning}` : warning;
}
