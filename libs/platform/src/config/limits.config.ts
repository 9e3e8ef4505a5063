import { isIP } from 'node:net';
import { Validate, ValidatorConstraint, type ValidatorConstraintInterface } from '../validation/index.js';
import { DatabaseConfig } from './base.config.js';
import { BooleanVariable, ChoiceVariable, IntegerVariable, ListVariable } from './variable.js';

const maxRequests = 1_000_000_000;
const maxTokens = 1_000_000_000_000;
const maxConcurrent = 1_000_000;
const tenMinutesMs = 600_000;

/** An address or network. A network of all addresses would let every client choose its own address. */
@ValidatorConstraint({ name: 'isProxyList' })
class IsProxyList implements ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return Array.isArray(value) && value.every((proxy) => this.isProxy(String(proxy)));
  }

  private isProxy(text: string): boolean {
    const [address = '', bits, ...more] = text.split('/');
    const version = isIP(address);
    if (version === 0 || more.length > 0) return false;
    return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
  }
}

/** Rate limits that the API applies (docs/guides/rate-limits.md). Model limits come from a table. */
export class LimitsConfig extends DatabaseConfig {
  @BooleanVariable('SLUICE_RATE_LIMITS', {
    about: 'Rate limits and blocks after failures; false only where all callers are trusted.',
    default: true,
  })
  rateLimits!: boolean;

  @IntegerVariable('SLUICE_PLAIN_RPM', {
    about: 'Requests per minute of one account that run no model.',
    default: 1_000,
    min: 0,
    max: maxRequests,
  })
  plainRequestsPerMinute!: number;

  @IntegerVariable('SLUICE_KEY_RPM', {
    about: 'Requests per minute of one API key.',
    optional: true,
    min: 0,
    max: maxRequests,
  })
  keyRequestsPerMinute?: number;

  @IntegerVariable('SLUICE_KEY_TPM', {
    about: 'Tokens per minute of one API key, over all text models.',
    optional: true,
    min: 0,
    max: maxTokens,
  })
  keyTokensPerMinute?: number;

  @IntegerVariable('SLUICE_GLOBAL_RPM', {
    about: 'Requests per minute of the installation.',
    optional: true,
    min: 0,
    max: maxRequests,
  })
  globalRequestsPerMinute?: number;

  @IntegerVariable('SLUICE_GLOBAL_TPM', {
    about: 'Tokens per minute of the installation.',
    optional: true,
    min: 0,
    max: maxTokens,
  })
  globalTokensPerMinute?: number;

  @IntegerVariable('SLUICE_ACCOUNT_CONCURRENT', {
    about: 'Open requests that run a model, per account; five times as many for the tier `partner`.',
    default: 200,
    min: 0,
    max: maxConcurrent,
  })
  accountConcurrent!: number;

  @IntegerVariable('SLUICE_KEY_CONCURRENT', {
    about: 'Open requests that run a model, per API key.',
    optional: true,
    min: 0,
    max: maxConcurrent,
  })
  keyConcurrent?: number;

  @IntegerVariable('SLUICE_ABUSE_FAILURES', {
    about: 'Failed requests in the window before a caller is blocked; 0: no block.',
    default: 20,
    min: 0,
    max: 1_000_000,
  })
  abuseFailures!: number;

  @ChoiceVariable('SLUICE_ABUSE_COUNT', {
    about: 'Statuses that count as failures: `caller` 400–499, `all` 500 and above too.',
    choices: ['caller', 'all'],
    default: 'caller',
  })
  abuseCount!: 'caller' | 'all';

  @IntegerVariable('SLUICE_ABUSE_WINDOW_MS', {
    about: 'Window of the failure count.',
    default: 30_000,
    min: 1_000,
    max: tenMinutesMs,
  })
  abuseWindowMs!: number;

  @IntegerVariable('SLUICE_ABUSE_BLOCK_MS', {
    about: 'Duration of a block after failures.',
    default: 30_000,
    min: 100,
    max: tenMinutesMs,
  })
  abuseBlockMs!: number;

  @ListVariable('SLUICE_TRUSTED_PROXIES', {
    about: 'Proxies whose `x-forwarded-for` is trusted; default: none.',
    default: '',
    expected: 'addresses or networks such as 10.0.0.0/8, none of them /0, separated by commas',
  })
  @Validate(IsProxyList)
  trustedProxies!: string[];
}
