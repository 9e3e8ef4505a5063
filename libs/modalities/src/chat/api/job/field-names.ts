import { type ErrorIssue, PlatformError } from '#common';

/**
 * Names of the fields of one request in two formats: a request that is translated to a chat completion is checked
 * as one, and its errors name the fields that the client sent.
 */
export class FieldNames {
  private readonly names = new Map<string, string>();
  private readonly wholes = new Map<string, string>();

  /** Records that the chat field `path`, and all below it, is the client's field `name`. */
  set(path: string, name: string): void {
    this.names.set(path, name);
  }

  /** Records that the chat field `path`, and each one below it, came by the client's field `name`. */
  setWhole(path: string, name: string): void {
    this.wholes.set(path, name);
  }

  /** Returns the client's name of a chat field; a field that has the same name in both formats is returned unchanged. */
  nameOf(path: string): string {
    for (
      let end = path.length;
      end > 0;
      end = Math.max(path.lastIndexOf('.', end - 1), path.lastIndexOf('[', end - 1))
    ) {
      const name = this.names.get(path.slice(0, end));
      if (name !== undefined) return name + path.slice(end);
      const whole = this.wholes.get(path.slice(0, end));
      if (whole !== undefined) return whole;
    }
    return path;
  }

  /** The error with the client's names in `param`, message and issues. */
  rename(error: unknown): unknown {
    if (!(error instanceof PlatformError) || error.param === null) return error;
    const { code, param, cause, retry } = error;
    const issues = error.issues?.map((issue) => this.renameIssue(issue));
    const message = renamed(error.message, param, this.nameOf(param));
    return new PlatformError(code, message, this.nameOf(param), { cause, retry, ...(issues && { issues }) });
  }

  /** Runs work on the chat request. Rejects as it does, with the client's names. */
  async within<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw this.rename(error);
    }
  }

  private renameIssue({ code, path, message }: ErrorIssue): ErrorIssue {
    const old = pathText(path);
    const name = this.nameOf(old);
    return { code, path: old === name ? path : pathParts(name), message: renamed(message, old, name) };
  }
}

/** Replaces a path in a message. Plain words, such as `messages`, may be prose and stay. */
function renamed(message: string, path: string, name: string): string {
  const isPath = /[._[]/.test(path) || message.startsWith(`${path} `);
  return isPath && path !== name ? message.replaceAll(path, name) : message;
}

function pathText(path: (string | number)[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  );
}

function pathParts(path: string): (string | number)[] {
  const parts = path.split(/[.[\]]+/).filter((part) => part !== '');
  return parts.map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}
