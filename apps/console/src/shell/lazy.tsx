import type { FunctionComponent, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Failure, Loading } from '../components/states.js';
import { RequestError } from '../api/request-error.js';

/** A component whose code loads when it is first shown. */
export function lazy<Props extends object>(
  load: () => Promise<FunctionComponent<Props>>,
): (props: Props) => JSX.Element {
  let loaded: FunctionComponent<Props> | null = null;
  return function Lazy(props: Props): JSX.Element {
    const [isReady, setReady] = useState(loaded !== null);
    const [isFailed, setFailed] = useState(false);
    useEffect(() => {
      if (loaded !== null || isFailed) return;
      load().then(
        (component) => {
          loaded = component;
          setReady(true);
        },
        () => setFailed(true),
      );
    }, [isFailed]);
    // After an update of the service, the old page asks for files that are gone.
    if (isFailed) {
      const error = new RequestError(0, 'This part of the page could not be loaded. Reload the page.');
      return <Failure error={error} retry={() => location.reload()} />;
    }
    const Component = loaded;
    return isReady && Component !== null ? <Component {...props} /> : <Loading />;
  };
}
