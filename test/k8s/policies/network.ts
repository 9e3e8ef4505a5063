import { type Manifest, ofKind, type Peer, selects, type Workload, workloadsOf } from '../manifest.js';
import type { Policy } from '../policy.js';
import { named } from './planting.js';

interface Way {
  peer: Peer | 'anywhere';
  port: number | 'any';
}

/** Where a workload may connect to, over all policies that mean it. */
function waysOut({ labels }: Workload, manifests: readonly Manifest[]): Way[] {
  return ofKind(manifests, 'NetworkPolicy')
    .filter(({ spec }) => spec?.policyTypes?.includes('Egress') && selects(spec.podSelector ?? {}, labels))
    .flatMap(({ spec }) => spec?.egress ?? [])
    .flatMap(({ to, ports }) => {
      const peers: Way['peer'][] = to && to.length > 0 ? to : ['anywhere'];
      const numbers = ports && ports.length > 0 ? ports.map(({ port }) => port ?? ('any' as const)) : ['any' as const];
      return peers.flatMap((peer) => numbers.map((port) => ({ peer, port })));
    });
}

/** Where a node that keeps a cache of names answers for them, as the usual installers set it up. */
const nodeCaches = ['169.254.20.10/32', '169.254.25.10/32'];

const storePorts = { queue: 6379, artifacts: [9000, 443], names: 53 };

/** Names of the cluster, the queue, the artifact store. */
function isWorkersWay({ peer, port }: Way): boolean {
  if (peer === 'anywhere') return false;
  const { cidr } = peer.ipBlock ?? {};
  if (port === storePorts.names) return peer.namespaceSelector !== undefined || nodeCaches.includes(cidr ?? '');
  // Stores outside the cluster are single addresses or small networks, never the internet.
  if (cidr !== undefined) return Number(cidr.split('/')[1]) >= 24 && isStorePort(port);
  const store = peer.podSelector?.matchLabels?.['sluice/store'];
  return (store === 'queue' || store === 'artifacts') && isStorePort(port);
}

const isStorePort = (port: Way['port']) =>
  port === storePorts.queue || (typeof port === 'number' && storePorts.artifacts.includes(port));

/** A policy for all pods that allows nothing: what no other policy opens stays closed, also for pods of tomorrow. */
function closes({ spec }: Manifest): boolean {
  const { podSelector = {}, policyTypes = [], ingress = [], egress = [] } = spec ?? {};
  const isForAll = Object.keys(podSelector).length === 0;
  return isForAll && policyTypes.length === 2 && ingress.length === 0 && egress.length === 0;
}

export const networkPolicies: Policy[] = [
  {
    name: 'closes every pod in both directions before it opens what is needed',
    offences: (manifests) => (ofKind(manifests, 'NetworkPolicy').some(closes) ? [] : ['nothing is closed']),
    plant: (manifests) => manifests.splice(manifests.indexOf(named(manifests, 'NetworkPolicy', /default-deny/)), 1),
  },
  {
    name: 'lets workers reach the queue and the artifacts, and no database and no internet',
    offences: (manifests) =>
      workloadsOf(manifests)
        .filter(({ component }) => component === 'worker')
        .flatMap((workload) =>
          waysOut(workload, manifests)
            .filter((way) => !isWorkersWay(way))
            .map(({ peer, port }) => `${workload.id}: ${JSON.stringify(peer)} port ${port}`),
        ),
    plant: (manifests) => {
      const rule = { to: [{ podSelector: { matchLabels: { 'sluice/store': 'database' } } }], ports: [{ port: 5432 }] };
      named(manifests, 'NetworkPolicy', /^worker$/).spec!.egress!.push(rule);
    },
  },
  {
    name: 'lets every pod ask for names, also a node that keeps a cache of them, and nothing else of a node',
    offences: (manifests) =>
      workloadsOf(manifests).flatMap((workload) => {
        const blocks = waysOut(workload, manifests).flatMap(({ peer, port }) =>
          peer !== 'anywhere' && peer.ipBlock ? [{ ...peer.ipBlock, port }] : [],
        );
        const missing = nodeCaches.filter(
          (cache) => !blocks.some(({ cidr, port }) => cidr === cache && port === storePorts.names),
        );
        const open = blocks.filter(
          ({ cidr, except = [], port }) =>
            (cidr.startsWith('169.254.') && !(nodeCaches.includes(cidr) && port === storePorts.names)) ||
            (cidr === '0.0.0.0/0' && !except.includes('169.254.0.0/16')),
        );
        return [
          ...missing.map((cache) => `${workload.id}: no names of ${cache}`),
          ...open.map(({ cidr, port }) => `${workload.id}: ${cidr} port ${port}`),
        ];
      }),
    plant: (manifests) => {
      const [rule] = named(manifests, 'NetworkPolicy', /^names$/).spec!.egress!;
      rule!.to = [...rule!.to!.filter(({ ipBlock }) => !ipBlock), { ipBlock: { cidr: '169.254.0.0/16' } }];
    },
  },
  {
    name: 'gives workers no secret of the database or of payloads',
    offences: (manifests) =>
      workloadsOf(manifests)
        .filter(({ component }) => component === 'worker')
        .filter(({ pod, containers }) => /sluice-(database|payloads)/.test(JSON.stringify([pod, containers])))
        .map(({ id }) => id),
    plant: (manifests) => {
      const worker = workloadsOf(manifests).find(({ component }) => component === 'worker');
      worker!.pod.volumes!.push({ name: 'more', secret: { secretName: 'sluice-database' } });
    },
  },
  {
    name: 'lets Prometheus reach the port that each process names for it',
    offences: (manifests) => {
      const [scraping] = ofKind(manifests, 'NetworkPolicy').filter(({ metadata }) => metadata.name === 'metrics');
      const ports = (scraping?.spec?.ingress ?? []).flatMap((rule) => rule.ports ?? []).map(({ port }) => port);
      return workloadsOf(manifests)
        .filter(({ component }) => ['api', 'ops', 'worker'].includes(component ?? ''))
        .filter(({ manifest, pod }) => {
          const { annotations = {} } = manifest.spec?.template?.metadata ?? {};
          const port = Number(annotations['prometheus.io/port']);
          const isListening = pod.containers.some((each) =>
            each.ports?.some(({ containerPort }) => containerPort === port),
          );
          return annotations['prometheus.io/scrape'] !== 'true' || !isListening || !ports.includes(port);
        })
        .map(({ id }) => id);
    },
    plant: (manifests) => (named(manifests, 'NetworkPolicy', /^metrics$/).spec!.ingress![0]!.ports = [{ port: 3000 }]),
  },
];
