import { describe } from 'vitest';
import { redisAvailable } from '#test/redis';
import { startRedisPoolStore } from '../../conformance/pool-store.conformance.js';
import { describeTransport } from '../../transport.conformance.js';

describe.skipIf(!redisAvailable)('the Redis user of a pool', () => {
  describeTransport('redis whose workers have the user of their pool', startRedisPoolStore);
});
