/** A Kubernetes object with the fields that the policies read. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Labels; annotations?: Record<string, string> };
  spec?: ManifestSpec;
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  automountServiceAccountToken?: boolean;
}

export type Labels = Record<string, string>;

/** Fields of all kinds combined: a policy knows which kinds it reads. */
export interface ManifestSpec {
  selector?: LabelSelector & Labels;
  template?: { metadata?: { labels?: Labels; annotations?: Record<string, string> }; spec?: PodSpec };
  podSelector?: LabelSelector;
  policyTypes?: string[];
  ingress?: { from?: Peer[]; ports?: { port?: number }[] }[];
  egress?: { to?: Peer[]; ports?: { port?: number }[] }[];
  scaleTargetRef?: { name: string };
  strategy?: { rollingUpdate?: { maxSurge?: number; maxUnavailable?: number } };
  progressDeadlineSeconds?: number;
  /** Of a PodMonitor. */
  podMetricsEndpoints?: { port: string; path: string }[];
  /** Of a PrometheusRule. */
  groups?: unknown[];
  minReplicaCount?: number;
  /** Of an Ingress. */
  tls?: { hosts: string[] }[];
  maxUnavailable?: number | string;
  minAvailable?: number | string;
  triggers?: { name?: string; type: string; metadata: Record<string, string> }[];
  metrics?: { type: string; pods?: { metric: { name: string } } }[];
}

export interface LabelSelector {
  matchLabels?: Labels;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

export interface Peer {
  podSelector?: LabelSelector;
  namespaceSelector?: LabelSelector;
  ipBlock?: { cidr: string; except?: string[] };
}

export interface PodSpec {
  serviceAccountName?: string;
  automountServiceAccountToken?: boolean;
  terminationGracePeriodSeconds?: number;
  hostNetwork?: boolean;
  hostPID?: boolean;
  hostIPC?: boolean;
  securityContext?: { runAsNonRoot?: boolean; runAsUser?: number; seccompProfile?: { type: string } };
  topologySpreadConstraints?: { topologyKey: string; labelSelector?: LabelSelector }[];
  initContainers?: Container[];
  containers: Container[];
  volumes?: Volume[];
}

export interface Container {
  name: string;
  image: string;
  args?: string[];
  env?: EnvironmentEntry[];
  envFrom?: { configMapRef?: { name: string }; secretRef?: { name: string } }[];
  ports?: { name?: string; containerPort: number }[];
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
  securityContext?: {
    allowPrivilegeEscalation?: boolean;
    readOnlyRootFilesystem?: boolean;
    privileged?: boolean;
    runAsUser?: number;
    capabilities?: { drop?: string[]; add?: string[] };
  };
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  startupProbe?: Probe;
  lifecycle?: { preStop?: { exec?: { command: string[] } } };
  volumeMounts?: { name: string; mountPath: string; readOnly?: boolean }[];
}

export interface Probe {
  httpGet?: { path: string; port: string | number };
}

export interface EnvironmentEntry {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef?: { name: string; key: string } };
}

export interface Volume {
  name: string;
  secret?: { secretName: string };
  configMap?: { name: string };
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean };
  emptyDir?: { sizeLimit?: string };
  hostPath?: { path: string };
  projected?: { sources: { secret?: { name: string; items?: { key: string; path: string }[] } }[] };
}

/** A workload whose pods the policies check. */
export interface Workload {
  manifest: Manifest;
  /** `Deployment/sluice-api`. */
  id: string;
  labels: Labels;
  /** `app.kubernetes.io/component` of its pods; stores have none. */
  component: string | undefined;
  pod: PodSpec;
  /** Containers, including init containers. */
  containers: Container[];
}

/** All objects that create pods. */
export function workloadsOf(manifests: readonly Manifest[]): Workload[] {
  return manifests.flatMap((manifest) => {
    const template = manifest.spec?.template;
    if (!template?.spec) return [];
    const labels = template.metadata?.labels ?? {};
    const component = labels['app.kubernetes.io/component'];
    const containers = [...(template.spec.initContainers ?? []), ...template.spec.containers];
    return [{ manifest, id: idOf(manifest), labels, component, pod: template.spec, containers }];
  });
}

export function idOf({ kind, metadata }: Manifest): string {
  return `${kind}/${metadata.name}`;
}

export function ofKind(manifests: readonly Manifest[], ...kinds: string[]): Manifest[] {
  return manifests.filter(({ kind }) => kinds.includes(kind));
}

/** Whether a label selector matches these labels; the empty one matches all. */
export function selects(selector: LabelSelector, labels: Labels): boolean {
  const equal = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  const expressed = (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
    const value = labels[key];
    if (operator === 'In') return value !== undefined && values.includes(value);
    if (operator === 'NotIn') return value === undefined || !values.includes(value);
    return operator === 'Exists' ? value !== undefined : value === undefined;
  });
  return equal && expressed;
}
