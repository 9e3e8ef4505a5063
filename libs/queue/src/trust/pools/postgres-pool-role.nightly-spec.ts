import { describeAffinity } from '../../conformance/affinity.conformance.js';
import { describeHandBack } from '../../conformance/hand-back.conformance.js';
import { startPoolStore } from '../../conformance/pool-store.conformance.js';
import { describeTransport } from '../../transport.conformance.js';

describeTransport('postgres whose workers have the role of their pool', startPoolStore, [
  describeAffinity,
  describeHandBack,
]);
