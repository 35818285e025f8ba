use std::time::{Duration, Instant};

use super::*;

fn text_of(html: &str) -> String {
    text(html, &Url::parse("https://docs.example/a/b").unwrap()).text
}

#[test]
fn a_page_reads_like_markdown() {
    let html = r##"<!doctype html><html><head><title> The
      page </title><style>p { color: red }</style><script>if (a < b) { alert("</p>") }</script></head>
<body><header><a href="/">Home</a></header>
<h1>One &amp; <em>only</em></h1>
<p>First   line<br>second &lt;line&gt; with <a href="../c?d=1#e">a <b>link</b></a>, <code>code</code>.</p>
<ul><li>one<li>two<ol><li>a</li><li>b</li></ol></li><li><p>three</p></li></ul>
<pre><code>fn main() {
    run();
}</code></pre>
<table><tr><th>Name</th><th>Size</th></tr><tr><td>a</td><td>1</td></tr></table>
<img alt="A cat" src=c.png><img src=d.png>
<noscript>Enable scripts</noscript><a href="javascript:alert(1)">no link</a> <a href="#top">up</a>
</body></html>"##;
    let page = text(html, &Url::parse("https://docs.example/a/b").unwrap());
    assert_eq!(page.title, "The page");
    assert_eq!(
        page.text,
        "[Home](https://docs.example/)\n\n# One & only\n\nFirst line\nsecond <line> with [a link](https://docs.example/c?d=1#e), `code`.\n\n\
         - one\n- two\n  1. a\n  2. b\n- three\n\n```\nfn main() {\n    run();\n}\n```\n\nName | Size\na | 1\n\n[image: A cat] no link up"
    );
}

#[test]
fn tag_soup_is_read_to_its_end() {
    assert_eq!(text_of("<p>a<p>b</div></ul></a></pre>c"), "a\n\nb\n\nc");
    assert_eq!(text_of("<head><meta x>never closed <p>text"), "never closed\n\ntext");
    assert_eq!(
        text_of("<a href=/x>one<a href=/y>two"),
        "[one](https://docs.example/x)[two](https://docs.example/y)"
    );
    assert_eq!(text_of("<pre>open <b>code"), "```\nopen code\n```");
    assert_eq!(text_of("a<!-- hidden -->b<![CDATA[c]]>"), "ab");
    assert_eq!(text_of("<svg><title>not it</title><text>no</text></svg>yes"), "yes");
    assert_eq!(text_of(""), "");
}

#[test]
fn nothing_that_hides_or_commands_is_left() {
    let html = "<p>plain\u{1b}[31m red \u{202e}desrever\u{202c} z\u{200b}ero &#27;]0;title&#7; <pre>\u{1b}[2J\ttab</pre>";
    assert_eq!(text_of(html), "plain[31m red desrever zero ]0;title\n\n```\n[2J\ttab\n```");
}

#[test]
fn no_page_costs_more_than_its_length() {
    let size = 400_000;
    for part in [
        "<div>",
        "<table><tr><td>",
        "<ul><li>",
        "<a href=x>",
        "<b",
        "</p>",
        "<pre>",
        "&amp",
        "<!--",
        "<p \"",
        "<svg>",
        "a=",
        "<title>",
    ] {
        let begun = Instant::now();
        text_of(&part.repeat(size / part.len()));
        assert!(begun.elapsed() < Duration::from_secs(5), "{part}: {:?}", begun.elapsed());
    }
}

#[test]
fn links_make_no_page_much_longer_than_it_was() {
    let base = format!("https://docs.example/{}/", "long".repeat(110));
    let base = Url::parse(&base).unwrap();
    for part in
        ["<a href=x>y", "<a href=x>y</a>\n", "<ul><li>x", "<li>", "<hr>", "<td>x", "<img alt=x>", "<h6>x"]
    {
        let html = part.repeat(400_000 / part.len());
        let text = text(&html, &base).text;
        assert!(text.len() <= 5 * html.len(), "{part}: {} of {}", text.len(), html.len());
    }
    let page = text(&"<p><a href=x>y</a>".repeat(1_000), &base).text;
    let told = page.matches(&format!("[y]({base}x)")).count();
    assert!(told > 50 && told < 100, "{told}");
    assert!(
        page.ends_with(&format!("y\n\n[the targets of {} more links are left out]", 1_000 - told)),
        "{page}"
    );
}
