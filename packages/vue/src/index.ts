/** The elements as components: properties, and events without the prefix. */

import 'gailou';
import type { GailouComments as CommentsElement, GailouEvents, Sort, TokenSource } from 'gailou';
import { defineComponent, h, onMounted, type PropType, ref, watch } from 'vue';

export { setServer } from 'gailou';

type Detail<Name extends keyof GailouEvents> = GailouEvents[Name]['detail'];

/** Without a default, Vue gives `false` for a switch that is left out. */
const switchProp = { type: Boolean as PropType<boolean | undefined>, default: undefined };
const textProp = String as PropType<string>;
const themeProp = String as PropType<'auto' | 'light' | 'dark'>;

const wordOf = (isOn: boolean | undefined) =>
  isOn === undefined ? undefined : isOn ? 'on' : 'off';

/** The comments of a subject. It exposes `element`, which has the methods. */
export const GailouComments = defineComponent({
  name: 'GailouComments',
  props: {
    subject: { type: textProp, required: true },
    api: textProp,
    lang: textProp,
    theme: themeProp,
    sort: String as PropType<Sort>,
    loading: String as PropType<'lazy' | 'eager'>,
    /** The address of more emoji and stickers, in the format of OwO. */
    emoji: textProp,
    live: switchProp,
    keys: switchProp,
    /** A token, or what fetches one. */
    token: { type: [String, Function] as PropType<TokenSource>, default: null },
  },
  emits: {
    ready: (_detail: Detail<'gailou:ready'>) => true,
    count: (_detail: Detail<'gailou:count'>) => true,
    posted: (_detail: Detail<'gailou:posted'>) => true,
    'sign-in': (_detail: Detail<'gailou:sign-in'>) => true,
    error: (_detail: Detail<'gailou:error'>) => true,
  },
  setup(props, { emit, expose }) {
    const element = ref<CommentsElement | null>(null);
    expose({ element });
    const giveToken = () => {
      if (element.value) element.value.token = props.token;
    };
    onMounted(giveToken);
    watch(() => props.token, giveToken);
    const on = <Name extends keyof GailouEvents>(listener: (detail: Detail<Name>) => void) => ({
      handleEvent: ({ detail }: GailouEvents[Name]) => listener(detail),
    });
    onMounted(() => {
      const node = element.value;
      if (!node) return;
      const listen = <Name extends keyof GailouEvents>(
        name: Name,
        listener: (detail: Detail<Name>) => void,
      ) => node.addEventListener(name, on(listener) as EventListenerObject);
      listen('gailou:ready', (detail) => emit('ready', detail));
      listen('gailou:count', (detail) => emit('count', detail));
      listen('gailou:posted', (detail) => emit('posted', detail));
      listen('gailou:sign-in', (detail) => emit('sign-in', detail));
      listen('gailou:error', (detail) => emit('error', detail));
    });
    return () => {
      const { token, live, keys, ...attributes } = props;
      return h('gailou-comments', {
        ...attributes,
        live: wordOf(live),
        keys: wordOf(keys),
        ref: element,
      });
    };
  },
});

/** The number of comments of a subject. */
export const GailouCount = defineComponent({
  name: 'GailouCount',
  props: { subject: { type: textProp, required: true } },
  setup: (props) => () => h('gailou-count', { '^subject': props.subject }),
});

/** The newest comments. */
export const GailouLatest = defineComponent({
  name: 'GailouLatest',
  props: {
    type: textProp,
    limit: [Number, String] as PropType<number | string>,
    api: textProp,
    lang: textProp,
    theme: themeProp,
  },
  setup: (props) => () => h('gailou-latest', { ...props }),
});

/** The notifications of the reader. */
export const GailouBell = defineComponent({
  name: 'GailouBell',
  props: { api: textProp, lang: textProp, theme: themeProp, token: textProp },
  setup: (props) => () => h('gailou-bell', { ...props }),
});
