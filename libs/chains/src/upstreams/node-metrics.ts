import type { Metrics } from '#platform/metrics';

/** What happens to requests to nodes, for the operator. No call is among it. */
export interface NodeObserver {
  asked(node: { network: string; position: number }, result: 'answered' | 'failed', seconds: number): void;
}

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

export function nodeMetrics(metrics: Metrics): NodeObserver {
  const requests = metrics.counter('sluice_rpc_node_requests_total', 'Requests to RPC nodes of the operator.', [
    'network',
    'node',
    'result',
  ]);
  const durations = metrics.histogram({
    name: 'sluice_rpc_node_request_duration_seconds',
    help: 'Time that an RPC node takes, also where it fails.',
    labelNames: ['network', 'node'],
    buckets,
  });
  return {
    asked: ({ network, position }, result, seconds) => {
      const node = String(position);
      requests.inc({ network, node, result });
      durations.observe({ network, node }, seconds);
    },
  };
}
