import type { JSX } from 'preact';
import { useQuery } from '../../api/use-query.js';
import { QueryView } from '../../components/states.js';
import { Table } from '../../components/table.js';
import { Time } from '../../components/time.js';
import { formatCount } from '../../format/numbers.js';
import { formatTime } from '../../format/time.js';

interface RateLimits {
  data: {
    accessPermitted: boolean;
    apiTier: { id: string; isCharged: boolean };
    keyExpiration: string | null;
    nextEpochBegins: string;
    rateLimits: { apiModelId?: string; rateLimits: { amount: number; type: string }[] }[];
  };
}

interface Refusals {
  data: { apiKeyId: string; modelId: string; rateLimitType: string; timestamp: string }[];
}

const reasons: Record<string, string> = {
  RPM: 'requests per minute',
  TPM: 'tokens per minute',
  RPD: 'requests per day',
  FAILED_REQUESTS: 'too many failed requests',
  UNSUPPORTED_FEATURE_REQUESTS: 'unsupported features',
};

/** What the signed-in key may use per minute, and what was refused. */
export function Limits(): JSX.Element {
  const limits = useQuery<RateLimits>('api/v1/api_keys/rate_limits', { refreshMs: 60_000 });
  const refusals = useQuery<Refusals>('api/v1/api_keys/rate_limits/log', { refreshMs: 15_000 });
  return (
    <>
      <QueryView query={limits}>{({ data }) => <LimitTable limits={data} />}</QueryView>
      <QueryView query={refusals}>
        {({ data }) => (
          <Table
            caption="The last refusals of the account"
            rows={data.map((refusal, index) => ({ ...refusal, index }))}
            rowKey={({ index }) => String(index)}
            empty="No request was refused for a limit."
            columns={[
              { title: 'Time', cell: ({ timestamp }) => <Time at={timestamp} />, sort: ({ timestamp }) => timestamp },
              { title: 'Model', cell: ({ modelId }) => modelId || 'none', sort: ({ modelId }) => modelId },
              { title: 'Limit', cell: ({ rateLimitType }) => reasons[rateLimitType] ?? rateLimitType },
              { title: 'API key id', cell: ({ apiKeyId }) => <code>{apiKeyId}</code> },
            ]}
          />
        )}
      </QueryView>
    </>
  );
}

function LimitTable({ limits }: { limits: RateLimits['data'] }): JSX.Element {
  const { apiTier, accessPermitted, nextEpochBegins, rateLimits } = limits;
  return (
    <>
      <p>
        Tier {apiTier.id}, {apiTier.isCharged ? 'requests are billed' : 'requests are free'}. The next day of spending
        limits begins {formatTime(nextEpochBegins)}.
      </p>
      {!accessPermitted && (
        <p class="notice notice-warning">The account has nothing to spend. Requests that cost something are refused.</p>
      )}
      <Table
        caption="Limits per minute, in any 60 seconds"
        rows={rateLimits.map((entry, index) => ({ ...entry, index }))}
        rowKey={({ index }) => String(index)}
        empty="Nothing is limited."
        columns={[
          {
            title: 'Model',
            cell: ({ apiModelId }) => apiModelId ?? 'every model',
            sort: ({ apiModelId }) => apiModelId ?? '',
          },
          {
            title: 'Requests',
            cell: (entry) => formatCount(amountOf(entry, 'RPM')),
            sort: (entry) => amountOf(entry, 'RPM'),
            isNumber: true,
          },
          {
            title: 'Tokens',
            cell: (entry) => formatCount(amountOf(entry, 'TPM')),
            sort: (entry) => amountOf(entry, 'TPM'),
            isNumber: true,
          },
        ]}
      />
    </>
  );
}

function amountOf({ rateLimits }: RateLimits['data']['rateLimits'][number], wanted: string): number | null {
  return rateLimits.find(({ type }) => type === wanted)?.amount ?? null;
}
