import { startPostgres } from '#test/postgres';
import { describeTransport } from './transport.conformance.js';

describeTransport('postgres', () => startPostgres());
