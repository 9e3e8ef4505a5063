import { describe, it } from 'vitest';
import { redisAvailable, startRedis } from '#test/redis';
import { describeTransport } from './transport.conformance.js';

if (redisAvailable) {
  describeTransport('redis', () => startRedis(['--appendonly', 'yes', '--appendfsync', 'everysec']));
} else {
  describe('redis transport', () => {
    it.skip('needs a redis-server on the PATH', () => undefined);
  });
}
