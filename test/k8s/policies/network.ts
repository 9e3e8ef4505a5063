import { type Manifest, ofKind, type Peer, selects, type Workload, workloadsOf } from '../manifest.js';
import type { Policy } from '../policy.js';
import { named } from './planting.js';

interface EgressRule {
  peer: Peer | 'anywhere';
  port: number | 'any';
}

/** Allowed egress of a workload over all policies that select it. */
function egressRules({ labels }: Workload, manifests: readonly Manifest[]): EgressRule[] {
  return ofKind(manifests, 'NetworkPolicy')
    .filter(({ spec }) => spec?.policyTypes?.includes('Egress') && selects(spec.podSelector ?? {}, labels))
    .flatMap(({ spec }) => spec?.egress ?? [])
    .flatMap(({ to, ports }) => {
      const peers: EgressRule['peer'][] = to && to.length > 0 ? to : ['anywhere'];
      const numbers = ports && ports.length > 0 ? ports.map(({ port }) => port ?? ('any' as const)) : ['any' as const];
      return peers.flatMap((peer) => numbers.map((port) => ({ peer, port })));
    });
}

/** Addresses of a node-local DNS cache in common installations. */
const nodeCaches = ['169.254.20.10/32', '169.254.25.10/32'];

const storePorts = { queue: 6379, artifacts: [9000, 443], names: 53 };

/** Cluster DNS, the queue and the artifact store. */
function isAllowedForWorkers({ peer, port }: EgressRule): boolean {
  if (peer === 'anywhere') return false;
  const { cidr } = peer.ipBlock ?? {};
  if (port === storePorts.names) return peer.namespaceSelector !== undefined || nodeCaches.includes(cidr ?? '');
  // Stores outside the cluster are single addresses or small networks, never the internet.
  if (cidr !== undefined) return Number(cidr.split('/')[1]) >= 24 && isStorePort(port);
  const store = peer.podSelector?.matchLabels?.['sluice/store'];
  return (store === 'queue' || store === 'artifacts') && isStorePort(port);
}

const isStorePort = (port: EgressRule['port']) =>
  port === storePorts.queue || (typeof port === 'number' && storePorts.artifacts.includes(port));

/** A default-deny policy for all pods, including future ones. */
function closes({ spec }: Manifest): boolean {
  const { podSelector = {}, policyTypes = [], ingress = [], egress = [] } = spec ?? {};
  const isForAll = Object.keys(podSelector).length === 0;
  return isForAll && policyTypes.length === 2 && ingress.length === 0 && egress.length === 0;
}

export const networkPolicies: Policy[] = [
  {
    name: 'denies all traffic of every pod before it allows what is needed',
    violations: (manifests) =>
      ofKind(manifests, 'NetworkPolicy').some(closes) ? [] : ['there is no default-deny policy'],
    plant: (manifests) => manifests.splice(manifests.indexOf(named(manifests, 'NetworkPolicy', /default-deny/)), 1),
  },
  {
    name: 'lets workers reach the queue and the artifacts, but no database and no internet',
    violations: (manifests) =>
      workloadsOf(manifests)
        .filter(({ component }) => component === 'worker')
        .flatMap((workload) =>
          egressRules(workload, manifests)
            .filter((way) => !isAllowedForWorkers(way))
            .map(({ peer, port }) => `${workload.id}: ${JSON.stringify(peer)} port ${port}`),
        ),
    plant: (manifests) => {
      const rule = { to: [{ podSelector: { matchLabels: { 'sluice/store': 'database' } } }], ports: [{ port: 5432 }] };
      named(manifests, 'NetworkPolicy', /^worker$/).spec!.egress!.push(rule);
    },
  },
  {
    name: 'allows DNS for every pod, also through a node-local cache, and nothing else on a node',
    violations: (manifests) =>
      workloadsOf(manifests).flatMap((workload) => {
        const blocks = egressRules(workload, manifests).flatMap(({ peer, port }) =>
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
          ...missing.map((cache) => `${workload.id}: no DNS through ${cache}`),
          ...open.map(({ cidr, port }) => `${workload.id}: ${cidr} port ${port}`),
        ];
      }),
    plant: (manifests) => {
      const [rule] = named(manifests, 'NetworkPolicy', /^names$/).spec!.egress!;
      rule!.to = [...rule!.to!.filter(({ ipBlock }) => !ipBlock), { ipBlock: { cidr: '169.254.0.0/16' } }];
    },
  },
  {
    name: 'gives workers no database or payload secret',
    violations: (manifests) =>
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
    name: 'lets Prometheus reach the metrics port of each process',
    violations: (manifests) => {
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
  {
    name: 'shows health and metrics of the API on a port that callers do not reach',
    violations: (manifests) => {
      const opened = ofKind(manifests, 'NetworkPolicy')
        .filter(({ metadata }) => metadata.name === 'api')
        .flatMap(({ spec }) => (spec?.ingress ?? []).flatMap((rule) => rule.ports ?? []))
        .map(({ port }) => port);
      return workloadsOf(manifests)
        .filter(({ component }) => component === 'api')
        .filter(({ containers }) => {
          const [{ ports = [], livenessProbe, env = [] } = {}] = containers;
          const probed = ports.find(({ name }) => name === livenessProbe?.httpGet?.port)?.containerPort;
          const isPublic = env.some(({ name, value }) => name === 'SLUICE_API_PUBLIC_HEALTH' && value === 'true');
          return probed === undefined || opened.includes(probed) || isPublic;
        })
        .map(({ id }) => id);
    },
    plant: (manifests) => named(manifests, 'NetworkPolicy', /^api$/).spec!.ingress![0]!.ports!.push({ port: 3003 }),
  },
  {
    name: 'has no Ingress that buffers streams or uploads, or serves without TLS',
    violations: (manifests) =>
      ofKind(manifests, 'Ingress')
        .filter(({ metadata: { annotations = {} }, spec }) => {
          const isBuffered = (kind: string) => annotations[`nginx.ingress.kubernetes.io/${kind}`] !== 'off';
          return isBuffered('proxy-buffering') || isBuffered('proxy-request-buffering') || !spec?.tls?.length;
        })
        .map(({ metadata }) => metadata.name),
    plant: (manifests) => {
      const { annotations = {} } = named(manifests, 'Ingress', /^sluice-api$/).metadata;
      annotations['nginx.ingress.kubernetes.io/proxy-buffering'] = 'on';
    },
  },
];
