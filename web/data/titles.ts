import { Client, fetchExchange } from '@urql/core';
import { createContext, useContext, useEffect, useMemo, useState } from 'react';
import type { Watched } from '@ovation/client';
import { clipsOf, profilesOf, type Clips, type Profiles } from '../demo/api/lookup';
import { useStore } from '../demo/api/store';
import { isClipId, type Subject } from '../demo/api/subject';
import { feed, find, isListed } from '../demo/content/catalogue';
import { headers, somebody } from './api';

// Tenant is the tenant of the page, empty for the default one.
export const Tenant = createContext('');

// hasDemo reports whether the subjects of the demo data have the titles of the demo.
const hasDemo = (tenant: string) => document.documentElement.hasAttribute('data-demo') && (tenant === '' || tenant === 'default');

interface Names {
  readonly client: Client;
  readonly clips: Clips;
  readonly profiles: Profiles;
}

const all = new Map<string, Names>();

// namesOf returns the lookups of a tenant: the titles of its videos, and the names of its
// accounts.
function namesOf(tenant: string): Names {
  let names = all.get(tenant);
  if (!names) {
    const client = new Client({
      url: new URL('/graphql', location.href).href,
      preferGetMethod: false,
      fetchOptions: { headers: headers(tenant, somebody) },
      exchanges: [fetchExchange],
    });
    names = { client, clips: clipsOf(client), profiles: profilesOf(client) };
    all.set(tenant, names);
  }
  return names;
}

const none = { get: () => null, watch: () => () => {} };

type Title = Watched<{ readonly title: string } | null | undefined>;
type Name = Watched<{ readonly name: string } | null | undefined>;

// useTitle returns the title of a subject, or undefined if there is none: that of a video
// on this site, of an item of the demo, or the name of an account.
export function useTitle({ biz, bizId }: Subject): string | undefined {
  const tenant = useContext(Tenant);
  const listed = hasDemo(tenant) && isListed({ biz, bizId });
  const looks = !listed && isClipId(bizId) ? biz : '';
  const clip = useStore(useMemo((): Title => (looks === 'video' ? namesOf(tenant).clips.of(bizId) : none), [looks, tenant, bizId]));
  const profile = useStore(useMemo((): Name => (looks === 'user' ? namesOf(tenant).profiles.of(bizId) : none), [looks, tenant, bizId]));
  return listed ? find(biz, bizId).title : (clip?.title ?? profile?.name);
}

export type Titled = Subject & { readonly title: string };

const newest = `query Titles { feed(first: 100) { edges { node { videoId title } } } }`;

interface Newest {
  readonly feed: { readonly edges: readonly { readonly node: { readonly videoId: string; readonly title: string } }[] };
}

// useTitles returns the subjects with titles that can be searched: the newest videos of this
// site, and the items of the demo.
export function useTitles(): readonly Titled[] {
  const tenant = useContext(Tenant);
  const [videos, setVideos] = useState<readonly Titled[]>([]);
  useEffect(() => {
    let left = false;
    setVideos([]);
    void namesOf(tenant)
      .client.query<Newest>(newest, {})
      .toPromise()
      .then(({ data }) => {
        // A site without videos of its own answers with an error.
        if (!left && data) setVideos(data.feed.edges.map(({ node }) => ({ biz: 'video', bizId: node.videoId, title: node.title })));
      });
    return () => {
      left = true;
    };
  }, [tenant]);
  return useMemo(() => [...videos, ...(hasDemo(tenant) ? feed : [])], [videos, tenant]);
}
