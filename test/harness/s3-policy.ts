import type { IncomingMessage } from 'node:http';

/*
 * Decides about requests as S3 does by the policy of a user, from the published rules:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html
 */

export interface S3Policy {
  Statement: readonly { Effect: string; Action: readonly string[]; Resource: readonly string[] }[];
}

export function isAllowed(policy: S3Policy, request: Pick<IncomingMessage, 'method' | 'url' | 'headers'>): boolean {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://s3');
  const path = decodeURIComponent(pathname).slice(1).replace(/\/$/, '');
  const source = decodeURIComponent(String(request.headers['x-amz-copy-source'] ?? '')).replace(/^\//, '');
  const needed = [{ action: actionOf(request.method ?? '', path, searchParams), path }];
  if (source !== '') needed.push({ action: 's3:GetObject', path: source });
  return needed.every(({ action, path: name }) =>
    policy.Statement.some(
      ({ Effect, Action, Resource }) =>
        Effect === 'Allow' && Action.includes(action) && Resource.some((pattern) => matches(pattern, name)),
    ),
  );
}

export function mayList(policy: S3Policy, bucket: string): boolean {
  return isAllowed(policy, { method: 'GET', url: `/${bucket}`, headers: {} });
}

function actionOf(method: string, path: string, query: URLSearchParams): string {
  const [, ...key] = path.split('/');
  if (key.join('/') === '') return query.has('uploads') ? 's3:ListBucketMultipartUploads' : 's3:ListBucket';
  switch (method) {
    case 'GET':
    case 'HEAD':
      return 's3:GetObject';
    case 'DELETE':
      return query.has('uploadId') ? 's3:AbortMultipartUpload' : 's3:DeleteObject';
    default:
      return 's3:PutObject';
  }
}

/** `*` stands for any text. */
function matches(pattern: string, path: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's').test(`arn:aws:s3:::${path}`);
}
