import Script from 'next/script';

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>
        {children}
        <Script src={`${process.env.NEXT_PUBLIC_GAILOU}/gailou.js`} />
      </body>
    </html>
  );
}
