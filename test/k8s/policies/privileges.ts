import { type Container, idOf, type Manifest, ofKind, type PodSpec, workloadsOf } from '../manifest.js';
import type { Policy } from '../policy.js';
import { firstContainer, firstWorkload, named } from './planting.js';

/** Names of the pods that violate the check. */
function pods(manifests: readonly Manifest[], isWrong: (pod: PodSpec) => boolean): string[] {
  return workloadsOf(manifests)
    .filter(({ pod }) => isWrong(pod))
    .map(({ id }) => id);
}

function containers(manifests: readonly Manifest[], isWrong: (container: Container) => boolean): string[] {
  return workloadsOf(manifests).flatMap(({ id, containers: all }) =>
    all.filter(isWrong).map(({ name }) => `${id}/${name}`),
  );
}

export const privilegePolicies: Policy[] = [
  {
    name: 'runs nothing as root',
    violations: (manifests) => [
      ...pods(manifests, ({ securityContext: own }) => own?.runAsNonRoot !== true || !own.runAsUser),
      ...containers(manifests, ({ securityContext: own }) => own?.runAsUser === 0),
    ],
    plant: (manifests) => (firstWorkload(manifests, 'ops').pod.securityContext = { runAsUser: 0 }),
  },
  {
    name: 'mounts the root file system of every process read-only',
    violations: (manifests) =>
      containers(manifests, ({ securityContext: own }) => own?.readOnlyRootFilesystem !== true),
    plant: (manifests) => (firstContainer(manifests, 'api').securityContext!.readOnlyRootFilesystem = false),
  },
  {
    name: 'drops all capabilities and forbids privilege escalation',
    violations: (manifests) =>
      containers(manifests, ({ securityContext: own }) => {
        const { allowPrivilegeEscalation, privileged, capabilities } = own ?? {};
        const dropsAll = capabilities?.drop?.includes('ALL') === true && !capabilities.add?.length;
        return allowPrivilegeEscalation !== false || privileged === true || !dropsAll;
      }),
    plant: (manifests) => (firstContainer(manifests, 'worker').securityContext!.capabilities = { drop: [] }),
  },
  {
    name: 'uses the default seccomp profile',
    violations: (manifests) =>
      pods(manifests, ({ securityContext: own }) => own?.seccompProfile?.type !== 'RuntimeDefault'),
    plant: (manifests) => delete firstWorkload(manifests, 'api').pod.securityContext!.seccompProfile,
  },
  {
    name: 'shares no host namespace or path with its pods',
    violations: (manifests) =>
      pods(
        manifests,
        ({ hostNetwork, hostPID, hostIPC, volumes = [] }) =>
          Boolean(hostNetwork ?? hostPID ?? hostIPC) || volumes.some(({ hostPath }) => hostPath),
      ),
    plant: (manifests) => (firstWorkload(manifests, 'worker').pod.hostNetwork = true),
  },
  {
    name: 'mounts no cluster token',
    violations: (manifests) => [
      ...pods(manifests, ({ automountServiceAccountToken }) => automountServiceAccountToken !== false),
      ...ofKind(manifests, 'ServiceAccount')
        .filter(({ automountServiceAccountToken }) => automountServiceAccountToken !== false)
        .map(idOf),
    ],
    plant: (manifests) => delete named(manifests, 'ServiceAccount', /worker/).automountServiceAccountToken,
  },
];
