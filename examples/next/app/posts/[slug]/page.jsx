const POSTS = [{ slug: 'hello', title: 'Hello', text: 'The first post.' }];

export const generateStaticParams = () => POSTS.map(({ slug }) => ({ slug }));

export default async function Page({ params }) {
  const { slug } = await params;
  const { title, text } = POSTS.find((post) => post.slug === slug);
  return (
    <main>
      <h1>{title}</h1>
      <p>{text}</p>
      {/* With @gailou/react the element is a component, with handlers in the place of events. */}
      <gailou-comments subject={`article/posts/${slug}`} />
    </main>
  );
}
