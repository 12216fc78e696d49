/** How readers sign in at a server, asked for once. */

import type { ApiClient } from '../api/client.ts';
import { listProviders } from '../api/member-calls.ts';
import type { SignInProvider } from '../api/wire.ts';

const known = new WeakMap<ApiClient, Promise<readonly SignInProvider[]>>();

/** None where that cannot be asked; the next call asks again. */
export function providersOf(api: ApiClient): Promise<readonly SignInProvider[]> {
  const asked =
    known.get(api) ??
    listProviders(api).then(
      ({ data }) => data.data,
      () => {
        known.delete(api);
        return [];
      },
    );
  known.set(api, asked);
  return asked;
}
