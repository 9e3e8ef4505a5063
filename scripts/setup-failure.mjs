/*
 * What `npm start` says where it cannot install or build what a clone lacks: one sentence with the way out. No package
 * is needed here.
 */
import { accessSync, constants } from 'node:fs';

const disconnected =
  /^(E(AI_AGAIN|CONNREFUSED|CONNRESET|HOSTUNREACH|NETUNREACH|NOTFOUND|TIMEDOUT)|ERR_SOCKET_TIMEOUT)$/;
const undated = /^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/;
const untrusted =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(GET_ISSUER_CERT_LOCALLY|VERIFY_LEAF_SIGNATURE))$/;

/** A failure whose message is all that an operator needs to read. */
export class SetupFailure extends Error {}

/** Returns what to say about a failed preparation. */
export function describeSetupFailure(error) {
  if (!(error instanceof Error)) return String(error);
  return adviceOnFiles(error.code, error.path ?? error.syscall) ?? error.message;
}

/** npm goes on with packages that it could not write, and ends as if nothing had happened. */
export function isCutShort(stderr) {
  return /\bTAR_ENTRY_ERROR (ENOSPC|EDQUOT)\b/.test(stderr);
}

/**
 * Returns the sentence about an `npm ci` that failed, by what it wrote to stderr and the signal that ended it. Null: what
 * npm wrote says more.
 */
export function describeInstallFailure({ stderr, signal, folder, environment = process.env }) {
  if (signal === 'SIGKILL')
    return 'npm ci was killed (SIGKILL). It takes 1 GB of memory: give this machine or container more.';
  if (isCutShort(stderr)) return adviceOnFiles('ENOSPC', folder);
  const [, code] = /^npm (?:error|ERR!) code (\w+)/m.exec(stderr) ?? [];
  if (code === undefined) return null;
  const [, url] = /\b(?:request to|GET) (https?:\/\/\S+)/.exec(stderr) ?? [];
  const registry = url === undefined ? 'The npm registry' : `The npm registry ${new URL(url).host}`;
  if (code === 'E401' || code === 'E403' || code === 'ENEEDAUTH') {
    return `${registry} wants a login (${code}). Log in (npm login), or write its token into .npmrc.`;
  }
  if (disconnected.test(code)) {
    return `${registry} did not answer (${code}). ${adviceOnNetwork(url, environment)}`;
  }
  if (undated.test(code)) {
    const now = new Date().toISOString().slice(0, 16).replace('T', ' ');
    return `The certificate of the npm registry is not valid now (${code}). The clock of this machine says ${now} UTC: correct it if that is wrong.`;
  }
  if (untrusted.test(code)) {
    return `The certificate of the npm registry is not trusted here (${code}). Name the file of its authority in NODE_EXTRA_CA_CERTS.`;
  }
  const [, path = folder] = /^npm (?:error|ERR!) path (.+)$/m.exec(stderr) ?? [];
  // Node says ENOENT of a new folder on a file system that is read-only.
  return adviceOnFiles(code === 'ENOENT' ? codeOfWriting(folder) : code, path);
}

/** Returns the code of the error that writing to a folder meets, if any. */
function codeOfWriting(folder) {
  try {
    accessSync(folder, constants.W_OK);
    return undefined;
  } catch (error) {
    return error.code;
  }
}

function adviceOnNetwork(url = 'https:', environment) {
  const names = url.startsWith('https:') ? ['HTTPS_PROXY', 'https_proxy'] : ['HTTP_PROXY', 'http_proxy'];
  const variable = names.find((name) => environment[name]);
  if (variable === undefined) {
    return 'Check the network, or name a registry that can be reached: npm config set registry …';
  }
  return `${variable} sends requests through a proxy: correct or unset it, or name hosts to reach directly in NO_PROXY.`;
}

/** Returns the sentence about an error of the file system, which has a code. Null: it is none. */
export function adviceOnFiles(code, path) {
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return `The disk of ${path} is full (${code}). The packages and the build take 1.2 GB: free some space, or clone to another disk.`;
    case 'EROFS':
      return `${path} is on a read-only file system (EROFS). Clone to a folder that can be written: packages and the build go there.`;
    case 'EACCES':
    case 'EPERM':
      return `This user may not write ${path} (${code}). Give this user the folder (chown -R), or clone to another one.`;
    default:
      return null;
  }
}
