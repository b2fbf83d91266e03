//! fn commented() {}
use std::fmt;

pub const LIMIT: usize = 10;
static mut COUNT: u32 = 0;
pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug)]
pub struct Store<'a, K> {
    items: Vec<&'a K>,
}
struct Unit;
pub(crate) struct Tuple(u32, String);
pub enum Shape { Square(f64), Circle }

impl<'a, K: Ord> Store<'a, K> {
    const QUOTE: char = '"';
    pub async fn load(&self, name: &str) -> Result<()> {
        fn inner() {}
        Ok(())
    }
    pub(crate) const unsafe fn raw(&self) {}
}

impl<K> fmt::Display for Store<'_, K>
where
    K: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result { Ok(()) }
}

pub trait Area {
    type Unit;
    fn area(&self) -> f64;
}
macro_rules! square {
    ($x:expr) => { $x * $x };
}
extern "C" fn callback() {}
const TEXT: &str = r#"
fn in_text() {}
"#;
mod tests {
    #[test]
    fn works() {}
}
mod elsewhere;
